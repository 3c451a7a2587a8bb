"""What can be a task, and what is known of it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.tasks import sample
from tocsin.tasks import task
from tocsin.tasks.registry import CannotLoad, load_tasks

LIBS = Path(__file__).parents[2] / "libs"


def test_a_task_is_still_the_function() -> None:
    assert sample.add(1, b=2) == 3
    assert vars(sample.add)["__name__"] == "add"


def test_its_name_is_the_functions_place_unless_it_is_given() -> None:
    assert sample.add.name == "tests.tasks.sample.add"
    assert sample.add_in_process.name == "sample.add_in_process"


def test_blocking_ones_run_on_threads_or_in_processes_and_async_ones_on_the_loop() -> None:
    assert sample.add.executor == "thread"
    assert sample.add_in_process.executor == "process"
    assert sample.add_async.executor is None


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two tasks are named 'sample\.add_in_process'"):

        @task(name="sample.add_in_process")
        def other() -> None: ...


def test_a_module_that_is_loaded_again_replaces_its_tasks() -> None:
    def again() -> None: ...

    first = task(name="again")(again)
    assert load_tasks([])["again"] is first
    assert load_tasks([])["again"] is not task(name="again")(again)


@pytest.mark.parametrize("thing", [print, len, "text", object()])
def test_only_functions_can_be_tasks(thing: object) -> None:
    with pytest.raises(TypeError, match="is not a function"):
        task(thing)  # type: ignore[call-overload]


def test_generators_cannot_be_tasks() -> None:
    def one() -> Iterator[int]:
        yield 1

    async def other() -> AsyncIterator[int]:
        yield 1

    for function in (one, other):
        with pytest.raises(TypeError, match="is a generator"):
            task(function)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("tests.tasks.nowhere", r"^tests\.tasks\.nowhere: there is no such module in "),
        ("nowhere.at.all", r"^nowhere\.at\.all: there is no such module in "),
        ("needs_something", r"^needs_something: No module named 'not_installed'"),
        ("has_a_mistake", r"^has_a_mistake: NameError: name 'oops' is not defined"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(
    module: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_something.py").write_text("import not_installed")
    (tmp_path / "has_a_mistake.py").write_text("oops")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(CannotLoad, match=sentence):
        load_tasks([module])


def test_modules_without_any_task_are_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    program = "from tocsin.tasks.registry import load_tasks; load_tasks(['empty'])"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(LIBS)},
        capture_output=True,
        check=False,
    )
    assert b"empty: no function there is a task; write @task before it" in answer.stderr


def test_importing_tasks_loads_no_http_client() -> None:
    code = "import sys, tocsin.tasks; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=LIBS, check=False).returncode == 0
