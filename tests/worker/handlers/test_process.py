"""The handler `process` with real programs."""

import asyncio
import json
import os
import pwd
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop

from tests.worker.handlers.process_support import process_run
from tocsin import clock
from tocsin.model.runs import Run
from tocsin.settings import load_settings
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.port import Equipment, HandlerFailed
from tocsin_worker.handlers.process.handler import ProcessHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
SECRETS = Secrets(None, {"TOCSIN_SECRET_DB": "corr3ct horse"})
NewLoop = Callable[[], asyncio.AbstractEventLoop]


def perform(run: Run, new_loop: NewLoop = asyncio.new_event_loop) -> Any:
    """The result, decoded."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        answer = runner.run(ProcessHandler(SECRETS).execute(run, CONTEXT))
    return json.loads(answer.result or b"")


def failure(run: Run) -> HandlerFailed:
    with pytest.raises(HandlerFailed) as caught:
        perform(run)
    return caught.value


def python(program: str, **config: Any) -> Run:
    return process_run(sys.executable, "-c", program, **config)


@LOOPS
def test_the_payload_is_the_standard_input_and_the_output_is_kept(new_loop: NewLoop) -> None:
    program = "import json,sys; print(json.load(sys.stdin)['a']); print('warned', file=sys.stderr)"
    result = perform(python(program, payload={"a": "Grüße"}), new_loop)
    assert result == {"exit_code": 0, "stdout": "Grüße\n", "stderr": "warned\n"}


def test_a_payload_larger_than_a_pipe_arrives_whole_or_may_be_left_unread() -> None:
    payload = "x" * 250_000
    count = python("import sys; print(len(sys.stdin.read()))", payload=payload)
    assert perform(count)["stdout"] == "250002\n"
    assert perform(process_run("true", payload=payload))["exit_code"] == 0


@pytest.mark.parametrize("text", ["Grüße 😀", "שלום", "e\u0301", "\u202e reversed", "𝔘"])
def test_b129_text_of_any_script_passes_through_byte_for_byte(text: str) -> None:
    result = perform(process_run("cat", payload=text))
    assert json.loads(result["stdout"]) == text
    assert perform(process_run("echo", text))["stdout"] == f"{text}\n"


def test_there_is_no_shell() -> None:
    assert perform(process_run("echo", "$HOME; id"))["stdout"] == "$HOME; id\n"


def test_the_environment_tells_which_run_it_is_and_nothing_of_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOCSIN_SECRET_OTHER", "s3cret")
    run = process_run("env", env={"KIND": "daily"})
    given = dict(line.split("=", 1) for line in perform(run)["stdout"].splitlines())
    assert given.keys() == {
        "PATH", "LANG", "HOME", "KIND", "TOCSIN_RUN_ID", "TOCSIN_JOB_ID", "TOCSIN_TENANT",
        "TOCSIN_SCHEDULED_TIME", "TOCSIN_ATTEMPT", "TRACEPARENT",
    }  # fmt: skip
    assert (given["TOCSIN_RUN_ID"], given["KIND"]) == (run.run_id, "daily")


def test_a_secret_reaches_the_program_and_not_the_history() -> None:
    program = "import os; print(len(os.environ['DB'])); print(os.environ['DB'])"
    assert perform(python(program, env={"DB": "secret://db"}))["stdout"] == "13\n***\n"


def test_any_other_exit_code_is_a_failure_with_its_last_words() -> None:
    failed = failure(python("import sys; print('half'); sys.exit('no paper')"))
    assert (failed.error.code, failed.error.permanent) == ("exit_code", False)
    assert failed.error.message.endswith("ended with exit code 1: no paper")
    assert json.loads(failed.result or b"")["stdout"] == "half\n"


def test_a_signal_is_told_by_its_name() -> None:
    failed = failure(python("import os; os.kill(os.getpid(), 11)"))
    assert "was killed by SIGSEGV" in failed.error.message


def test_of_a_long_output_the_beginning_and_the_end_are_kept() -> None:
    program = "print('first'); print('x' * 50_000_000); print('last')"
    result = perform(python(program))
    assert result["stdout"].startswith("first\n")
    assert result["stdout"].endswith("last\n")
    assert "bytes left out" in result["stdout"]
    assert len(result["stdout"]) < 33_000


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (process_run("/absent/program"), "/absent/program"),
        (process_run("true", directory="/absent"), "/absent"),
        (process_run("true", user="nobody-of-that-name"), "no user"),
        (process_run("/etc/passwd"), "ermission denied"),
    ],
)
def test_what_cannot_be_started_here_may_start_on_another_worker(run: Run, told: str) -> None:
    error = failure(run).error
    assert (error.code, error.permanent) == ("invalid", False)
    assert told in error.message


def test_the_directory_is_the_job_s(tmp_path: Path) -> None:
    assert perform(process_run("pwd", directory=str(tmp_path)))["stdout"] == f"{tmp_path}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_the_user_is_the_job_s_with_its_groups_and_no_others() -> None:
    nobody = pwd.getpwnam("nobody")
    result = perform(process_run("id", user="nobody", directory="/"))
    groups = os.getgrouplist("nobody", nobody.pw_gid)
    assert f"uid={nobody.pw_uid}(nobody)" in result["stdout"]
    assert result["stdout"].count("(") == 2 + len(groups)


def wait_for(file: Path) -> None:
    deadline = clock.monotonic_ms() + 30_000
    while not file.exists():
        assert clock.monotonic_ms() < deadline, "the program has not begun"
        time.sleep(0.01)


def family(shown: Path) -> list[psutil.Process]:
    """The processes whose numbers a program has written to a file."""
    return [psutil.Process(int(number)) for number in shown.read_text().split()]


STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
shown = pathlib.Path(sys.argv[1])
shown.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
shown.with_suffix(".new").rename(shown)
while __ENDLESS__:
    time.sleep(1000)
"""


@LOOPS
def test_b119_its_whole_group_is_gone_a_second_after_it_is_to_end(
    new_loop: NewLoop, tmp_path: Path
) -> None:
    shown = tmp_path / "pids"
    program = STUBBORN.replace("__ENDLESS__", "True")

    async def main() -> list[psutil.Process]:
        run = process_run(sys.executable, "-c", program, str(shown))
        attempt = asyncio.ensure_future(ProcessHandler(SECRETS).execute(run, CONTEXT))
        await asyncio.to_thread(wait_for, shown)
        members = family(shown)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        return members

    with asyncio.Runner(loop_factory=new_loop) as runner:
        for member in runner.run(main()):
            member.wait(timeout=30)


def test_one_that_is_cancelled_while_it_starts_is_not_left_running(tmp_path: Path) -> None:
    """However early the cancel comes, nothing of the program is there afterwards."""
    marks = [f"{tmp_path}/{number}" for number in range(20)]

    async def main() -> None:
        for number, mark in enumerate(marks):
            run = process_run("sh", "-c", "sleep 1000; true", mark)
            attempt = asyncio.ensure_future(ProcessHandler(SECRETS).execute(run, CONTEXT))
            for _ in range(number):
                await asyncio.sleep(0)
            attempt.cancel()
            await asyncio.wait([attempt])

    asyncio.run(main())
    commands = [
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    ]
    assert not [command for command in commands if f"{tmp_path}/" in command]


def test_what_it_leaves_behind_in_its_group_ends_with_it(tmp_path: Path) -> None:
    shown = tmp_path / "pids"
    program = STUBBORN.replace("__ENDLESS__", "False")
    assert perform(process_run(sys.executable, "-c", program, str(shown)))["exit_code"] == 0
    for number in map(int, shown.read_text().split()):
        if psutil.pid_exists(number):
            psutil.Process(number).wait(timeout=30)


@pytest.mark.parametrize(("environ", "there"), [({}, False), ({"TOCSIN_PROCESS": "true"}, True)])
def test_it_is_off_unless_a_worker_is_told_otherwise(environ: dict[str, str], there: bool) -> None:
    equipment = Equipment("w-1", load_settings(environ), SECRETS)
    assert ("process" in catalogue.registry(equipment).types) is there
