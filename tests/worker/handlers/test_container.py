"""The handler `container` against a real engine."""

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from tests.worker.handlers.container_support import (
    container_handler,
    container_run,
    engine,
    first_labelled,
    shell,
)
from tests.worker.handlers.podman import registry_port
from tests.worker.handlers.registry import registry
from tocsin import clock
from tocsin.model.runs import Run
from tocsin.settings import load_settings
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.container.config import ContainerConfig
from tocsin_worker.handlers.container.engine import Engine
from tocsin_worker.handlers.container.handler import ContainerHandler
from tocsin_worker.handlers.container.orphans import MARGIN_MS, labels_of
from tocsin_worker.handlers.container.spec import container_spec
from tocsin_worker.handlers.port import Context, Equipment, HandlerFailed
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

Scenario = Callable[[ContainerHandler, Engine], Awaitable[None]]


def perform(socket: Path, run: Run) -> Any:
    """The result, decoded."""

    async def main() -> Any:
        async with container_handler(socket) as handler:
            return json.loads((await handler.execute(run, CONTEXT)).result or b"")

    return uvloop.run(main())


def failure(socket: Path, run: Run) -> HandlerFailed:
    with pytest.raises(HandlerFailed) as caught:
        perform(socket, run)
    return caught.value


def play(socket: Path, scenario: Scenario, **handler: Any) -> None:
    async def main() -> None:
        async with engine(socket) as looking, container_handler(socket, **handler) as client:
            await scenario(client, looking)

    asyncio.run(main())


async def begun(looking: Engine, run: Run) -> str:
    return await first_labelled(looking, f"io.tocsin.run-id={run.run_id}")


async def containers(looking: Engine) -> set[str]:
    return {one.id for one in await looking.labelled("io.tocsin.run-id")}


def test_the_payload_is_the_standard_input_and_the_output_is_kept(engine_socket: Path) -> None:
    run = shell("cat; echo warned >&2", payload={"a": "Grüße"})
    result = perform(engine_socket, run)
    assert result == {"exit_code": 0, "stdout": '{"a": "Grüße"}', "stderr": "warned\n"}


def test_a_large_payload_arrives_whole_or_may_be_left_unread(engine_socket: Path) -> None:
    payload = "x" * 250_000
    run = shell("tail -c 4", payload=payload)
    assert perform(engine_socket, run)["stdout"] == 'xxx"'
    assert perform(engine_socket, container_run("/bin/true", payload=payload))["exit_code"] == 0


@pytest.mark.parametrize("payload", [None, "x" * 200_000])
def test_the_output_is_whole_where_the_input_is_left_unread(
    engine_socket: Path, payload: object
) -> None:
    """An engine that cannot hand on the input of a container that has ended ends the connection."""

    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        for _ in range(3):
            runs = [shell(f"echo out {n}; echo err {n} >&2", payload=payload) for n in range(4)]
            answers = await asyncio.gather(*(handler.execute(run, CONTEXT) for run in runs))
            told = [json.loads(answer.result or b"") for answer in answers]
            assert [one["stdout"] for one in told] == [f"out {n}\n" for n in range(4)]
            assert [one["stderr"] for one in told] == [f"err {n}\n" for n in range(4)]

    play(engine_socket, scenario)


def test_the_job_says_command_directory_user_and_variables(engine_socket: Path) -> None:
    run = container_run(
        "/bin/sh", "-c", "pwd; id -u; env", working_directory="/tmp", user="1000",
        env={"KIND": "daily", "DB": "secret://db"},
    )  # fmt: skip
    lines = perform(engine_socket, run)["stdout"].splitlines()
    assert lines[:2] == ["/tmp", "1000"]
    assert {"KIND=daily", "DB=***", f"TOCSIN_RUN_ID={run.run_id}", "TOCSIN_ATTEMPT=1"} <= {*lines}


def test_arguments_alone_leave_the_image_s_entry_point(engine_socket: Path) -> None:
    """This image has none, so the first of them is the program."""
    run = container_run("x", payload=None)
    config = {**json.loads(run.handler.config), "args": ["/bin/echo", "hi"]}
    del config["command"]
    handler = msgspec.structs.replace(run.handler, config=json.dumps(config).encode())
    result = perform(engine_socket, msgspec.structs.replace(run, handler=handler))
    assert result["stdout"] == "hi\n"


def test_any_other_exit_code_is_a_failure_with_its_last_words(engine_socket: Path) -> None:
    failed = failure(engine_socket, shell("echo half; echo no paper >&2; exit 3"))
    assert (failed.error.code, failed.error.permanent) == ("exit_code", False)
    assert failed.error.message == "the container ended with exit code 3: no paper"
    assert json.loads(failed.result or b"")["stdout"] == "half\n"


def test_of_a_long_output_the_beginning_and_the_end_are_kept(engine_socket: Path) -> None:
    result = perform(engine_socket, shell("echo first; yes x | head -c 5000000; echo last"))
    assert result["stdout"].startswith("first\n")
    assert result["stdout"].endswith("last\n")
    assert "bytes left out" in result["stdout"]


def test_a_container_keeps_within_its_memory(engine_socket: Path) -> None:
    run = shell("x=x; while true; do x=$x$x; done", limits={"memory": "16m"})
    failed = failure(engine_socket, run)
    assert failed.error.message.startswith("the container ended with exit code 137")


@pytest.mark.parametrize(
    ("run", "permanent", "told"),
    [
        (container_run("/bin/absent"), False, "refuses"),
        (container_run("/bin/true", image="localhost/absent:1"), False, "no such image"),
        (
            container_run("x", image="127.0.0.1:9/absent:1", pull="missing"),
            False,
            "127.0.0.1:9",
        ),
        (
            container_run("x", image="127.0.0.1:9/absent", pull="always"),
            False,
            "127.0.0.1:9",
        ),
        (container_run("/bin/true", image="UPPER CASE"), True, "is not an image"),
    ],
)
def test_what_the_engine_refuses_is_told(
    engine_socket: Path, run: Run, permanent: bool, told: str
) -> None:
    error = failure(engine_socket, run).error
    assert (error.code, error.permanent) == ("invalid", permanent)
    assert told in error.message


def test_an_engine_that_is_away_is_a_failure_worth_a_retry(tmp_path: Path) -> None:
    error = failure(tmp_path / "absent.sock", container_run("/bin/true")).error
    assert (error.code, error.permanent) == ("connect", False)


@pytest.mark.parametrize(("pull", "times"), [("missing", 1), ("always", 2)])
def test_an_image_is_pulled_as_the_job_says(engine_socket: Path, pull: str, times: int) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        port = registry_port(engine_socket)
        async with registry(port) as serving:
            run = container_run("/bin/true", image=f"127.0.0.1:{port}/{pull}", pull=pull)
            await handler.execute(run, CONTEXT)
            await handler.execute(run, CONTEXT)
            assert serving.pulled == ["latest"] * times

    play(engine_socket, scenario)


def test_an_image_that_is_not_public_is_pulled_with_a_secret(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        port = registry_port(engine_socket)
        async with registry(port, "ada:corr3ct horse") as serving:
            image = f"127.0.0.1:{port}/private:2"
            auth = {"username": "ada", "password": "secret://db"}
            with pytest.raises(HandlerFailed) as caught:
                await handler.execute(container_run("x", image=image, pull="missing"), CONTEXT)
            assert (caught.value.error.code, caught.value.error.permanent) == ("invalid", False)
            run = container_run("/bin/true", image=image, pull="missing", registry_auth=auth)
            await handler.execute(run, CONTEXT)
            assert set(serving.pulled) == {"2"}

    play(engine_socket, scenario)


def test_an_image_that_is_there_is_not_pulled(engine_socket: Path) -> None:
    assert perform(engine_socket, container_run("/bin/true", pull="missing"))["exit_code"] == 0


def test_b119_a_container_that_is_to_end_is_stopped_and_removed(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        run = shell("trap 'exit 0' TERM; while true; do sleep 0.05; done")
        attempt = asyncio.ensure_future(handler.execute(run, CONTEXT))
        container = await begun(looking, run)
        attempt.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await attempt
        await handler.close()
        assert container not in await containers(looking)

    play(engine_socket, scenario)


def test_b119_one_that_does_not_stop_is_killed_after_its_grace(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        run = shell("trap '' TERM; while true; do sleep 1; done", stop_grace=1)
        attempt = asyncio.ensure_future(handler.execute(run, CONTEXT))
        container = await begun(looking, run)
        attempt.cancel()
        await asyncio.wait([attempt])
        async with asyncio.timeout(30):
            await handler.close()
        assert container not in await containers(looking)

    play(engine_socket, scenario)


def test_nothing_is_left_of_one_that_is_to_end_while_it_is_being_made(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        for moment in range(8):
            run = container_run("/bin/sleep", "1000", stop_grace=0)
            attempt = asyncio.ensure_future(handler.execute(run, CONTEXT))
            await asyncio.sleep(moment * 0.03)
            attempt.cancel()
            await asyncio.wait([attempt])
        await handler.close()
        assert await containers(looking) == set()

    play(engine_socket, scenario)


def test_nothing_is_left_of_a_container_that_has_ended(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        await handler.execute(container_run("/bin/true"), CONTEXT)
        with pytest.raises(HandlerFailed):
            await handler.execute(container_run("/bin/false"), CONTEXT)
        await handler.close()
        assert await containers(looking) == set()

    play(engine_socket, scenario)


async def gone(looking: Engine, container: str) -> None:
    """Wait until it is."""
    async with asyncio.timeout(60):
        while container in await containers(looking):  # noqa: ASYNC110 - the engine's to end
            await asyncio.sleep(0.05)


async def left_behind(
    looking: Engine, name: str, node: str, since: int, worker: str = "w-gone"
) -> str:
    """The id of a container that a worker started at `since`, and has forgotten."""
    run = container_run("/bin/sleep", "1000")
    labels = labels_of(run, Context(worker, since), node, grace_s=10)
    config = read_config(run.handler, ContainerConfig)
    before = await containers(looking)
    await looking.create(name, container_spec(config, {}, labels))
    await looking.start(name)
    (container,) = await containers(looking) - before
    return container


@pytest.mark.parametrize(
    ("stable", "left"),
    [(True, {"other-node"}), (False, {"other-node", "perhaps-busy"})],
)
def test_containers_that_nobody_has_any_more_are_removed_at_the_start(
    engine_socket: Path, stable: bool, left: set[str]
) -> None:
    """Under a name that others may have too, only those whose time is over."""

    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        now = clock.now_ms()
        ids = {
            "other-node": await left_behind(looking, "other-node", "node-2", now),
            "over-there": await left_behind(looking, "over-there", "node-2", 0),
            "perhaps-busy": await left_behind(looking, "perhaps-busy", "node-1", now),
            "over": await left_behind(looking, "over", "node-1", 0),
        }
        try:
            await handler.open()
            assert await containers(looking) == {ids[name] for name in left}
        finally:
            for container in ids.values():
                await looking.remove(container)

    play(engine_socket, scenario, stable=stable)


def test_containers_whose_time_ends_later_are_removed_then_if_nobody_is_at_work_with_them(
    engine_socket: Path,
) -> None:
    """A live worker keeps what it has, whatever its clock says, and so does any other of the same
    name: after the start only time counts."""

    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        await handler.open()
        busy = container_run("/bin/sleep", "1000", stop_grace=0)
        attempt = asyncio.ensure_future(handler.execute(busy, Context(CONTEXT.worker, 0)))
        mine = await begun(looking, busy)
        twin = await left_behind(looking, "twin", "node-1", clock.now_ms(), "w-2")
        almost_over = clock.now_ms() - busy.timeout_ms - 10_000 - MARGIN_MS + 5_000
        await gone(looking, await left_behind(looking, "over", "node-3", almost_over))
        await asyncio.sleep(0.3)  # and a few more looks
        assert await containers(looking) == {mine, twin}
        await looking.remove(twin)
        attempt.cancel()
        await asyncio.wait([attempt])

    play(engine_socket, scenario, sweep_s=0.1)


def test_an_engine_that_is_away_at_the_start_is_looked_at_later(
    engine_socket: Path, tmp_path: Path
) -> None:
    async def scenario(_: ContainerHandler, looking: Engine) -> None:
        left = await left_behind(looking, "left", "node-1", clock.now_ms())
        link = tmp_path / "engine.sock"
        async with container_handler(link, sweep_s=0.1) as handler:
            with pytest.raises(OSError, match="Cannot connect"):
                await handler.open()
            link.symlink_to(engine_socket)
            await gone(looking, left)

    play(engine_socket, scenario)


def test_nothing_is_kept_of_images_that_nobody_is_waiting_for(tmp_path: Path) -> None:
    def locks() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Lock) for each in gc.get_objects())

    async def main() -> None:
        async with container_handler(tmp_path / "absent.sock") as handler:
            before = locks()
            for number in range(50):
                run = container_run("/bin/true", image=f"absent:{number}", pull="missing")
                with pytest.raises(HandlerFailed):
                    await handler.execute(run, CONTEXT)
            assert locks() <= before

    asyncio.run(main())


def test_an_attempt_ends_what_is_left_of_earlier_ones(engine_socket: Path) -> None:
    async def scenario(handler: ContainerHandler, looking: Engine) -> None:
        await left_behind(looking, "first", "node-2", clock.now_ms())
        await handler.execute(container_run("/bin/true", attempt=2), CONTEXT)
        await handler.close()
        assert await containers(looking) == set()

    play(engine_socket, scenario)


@pytest.mark.parametrize(
    ("environ", "there"), [({}, False), ({"TOCSIN_CONTAINER_SOCKET": "/run/docker.sock"}, True)]
)
def test_it_is_there_where_a_worker_has_an_engine(environ: dict[str, str], there: bool) -> None:
    equipment = Equipment("w-1", load_settings(environ), Secrets(None, {}))
    assert ("container" in catalogue.registry(equipment).types) is there
