"""`tocsin job …`: jobs through the gateway."""

from typing import Annotated

import typer

from tocsin_cli.commands import job_backfill, job_states
from tocsin_cli.commands import job_options as options
from tocsin_cli.failures import NEGATIVE
from tocsin_cli.invocation import invocation_of

LIMIT = 50


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Jobs: what is to run, and when.", no_args_is_help=True)
    group.command("put")(_put)
    group.command("get")(_get)
    group.command("list")(_list)
    job_states.register(group)
    group.command("trigger")(_trigger)
    job_backfill.register(group)
    app.add_typer(group, name="job")


def _put(
    context: typer.Context,
    job_id: options.OptionalJobId = None,
    file: options.File = None,
    cron: options.Cron = None,
    every: options.Every = None,
    at: options.At = None,
    in_: options.In = None,
    timezone: options.Timezone = None,
    url: options.Url = None,
    method: options.Method = None,
    headers: options.Headers = None,
    noop: options.Noop = False,
    payload: options.Payload = None,
    description: options.Description = None,
    owner: options.Owner = None,
    tags: options.Tags = None,
    pool: options.Pool = None,
    priority: options.PriorityOption = None,
    jitter: options.Jitter = None,
    timeout: options.Timeout = None,
    queue_timeout: options.QueueTimeout = None,
    max_attempts: options.MaxAttempts = None,
    overlap: options.OverlapOption = None,
    catch_up: options.CatchUp = None,
    max_runs: options.MaxRuns = None,
    if_revision: options.IfRevision = None,
    if_absent: options.IfAbsent = False,
    dry_run: options.DryRun = False,
    diff: options.Diff = False,
    prune: options.Prune = None,
) -> None:
    """Create a job, or replace it; or make the jobs of a file so."""
    from tocsin_cli import job_files as files
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_plan import each_of, file_tenant
    from tocsin_cli.job_views import job_views
    from tocsin_cli.output import show

    fields: files.Definition = {
        **files.schedule_of(cron=cron, every=every, at=at, in_=in_, timezone=timezone),
        **files.handler_of(url=url, method=method, headers=headers or (), noop=noop),
        **files.nested(max_attempts=max_attempts, catch_up=catch_up, tags=tags, payload=payload),
        **files.given(
            description=description,
            owner=owner,
            pool=pool,
            priority=priority,
            jitter=jitter,
            timeout=timeout,
            queue_timeout=queue_timeout,
            overlap=overlap,
            max_runs=max_runs,
        ),
    }
    definitions = [{}] if file is None else files.read_definitions(file)
    wanted = files.named(definitions, job_id, fields)
    if diff or prune is not None:
        _make_so(context, wanted, show_diff=diff, prune=prune, dry_run=dry_run)
        return
    invocation = invocation_of(context)
    invocation.tenant = file_tenant((job for _, job in wanted), invocation.tenant)
    with gateway(invocation) as tocsin:
        jobs = each_of(
            wanted,
            lambda one: tocsin.put(
                *one, if_revision=if_revision, if_absent=if_absent, dry_run=dry_run
            ),
            "checking" if dry_run else "writing",
        )
    answer = jobs[0] if len(jobs) == 1 else jobs
    show(invocation.output, answer, lambda: job_views(jobs))


def _make_so(
    context: typer.Context,
    wanted: list[tuple[str, dict[str, object]]],
    *,
    show_diff: bool,
    prune: str | None,
    dry_run: bool,
) -> None:
    """Show what becomes of each job, and do it unless it is a dry run."""
    from tocsin_cli import job_plan
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_files import tag_of
    from tocsin_cli.job_views import change_views
    from tocsin_cli.output import show

    invocation = invocation_of(context)
    invocation.tenant = job_plan.file_tenant((job for _, job in wanted), invocation.tenant)
    tag = None if prune is None else tag_of(prune, "--prune")
    with gateway(invocation) as tocsin:
        changes = job_plan.plan(tocsin, wanted, tag)
        show(
            invocation.output,
            [change.to_json() for change in changes],
            lambda: change_views(changes, show_diff=show_diff),
        )
        if not dry_run:
            job_plan.carry_out(tocsin, changes)


def _get(context: typer.Context, job_id: options.JobId) -> None:
    """Show one job."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_views import job_view
    from tocsin_cli.output import show

    with gateway(invocation_of(context)) as tocsin:
        job = tocsin.get(job_id)
    show(invocation_of(context).output, job, lambda: job_view(job))


def _list(
    context: typer.Context,
    status: Annotated[options.Phase | None, typer.Option(help="Only these.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="May be repeated.")
    ] = None,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Whose they are.")] = None,
    text: Annotated[
        str | None,
        typer.Option("--search", metavar="TEXT", help="Words begin so in id, owner, description."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="No more than these.")] = LIMIT,
) -> None:
    """List jobs."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_views import job_table
    from tocsin_cli.output import limited, show
    from tocsin_cli.tags import tag_filter

    with gateway(invocation_of(context)) as tocsin:
        found = tocsin.list(
            status=status,
            tags=tag_filter(tag or ()),
            owner=owner,
            text=text,
            page_size=min(limit + 1, 500),
        )
        jobs = limited(found, limit)
    show(invocation_of(context).output, jobs, lambda: job_table(jobs) if jobs else "no jobs")


def _trigger(
    context: typer.Context,
    job_id: options.JobId,
    payload: options.Payload = None,
    overlap: options.OverlapOption = None,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait so long for its end; exit code 1 unless it succeeds.",
        ),
    ] = None,
) -> None:
    """Run a job now, also one that is paused."""
    from tocsin_cli import job_files as files
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show
    from tocsin_cli.run_rows import result_of

    more = {} if payload is None else {"payload": files.payload_of(payload)}
    with gateway(invocation_of(context)) as tocsin:
        run = tocsin.trigger(job_id, overlap=overlap, **more)
        if wait is not None:
            run = tocsin.wait_for_run(run.run_id, wait)
    show(invocation_of(context).output, run, lambda: f"{run.run_id} {result_of(run)}")
    if wait is not None and run.status != "succeeded":
        raise typer.Exit(NEGATIVE)
