"""Log lines: JSON for programs, one readable line for people."""

import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator

import pytest

from tocsin.logs import configure_logging

LOG = logging.getLogger("tocsin.example")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Each test configures the process's logging; afterwards it is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    for handler in handlers:  # or configure_logging would close pytest's own
        root.removeHandler(handler)
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_program_reads_one_object_a_line_with_a_stable_action() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    LOG.info("took over partition %d", 3, extra={"action": "partition_claimed", "partition": 3})
    (line,) = lines(stream)
    assert line.pop("time").__str__().endswith("Z")
    assert line == {
        "level": "info",
        "logger": "tocsin.example",
        "action": "partition_claimed",
        "message": "took over partition 3",
        "partition": 3,
    }


def test_action_is_null_where_the_caller_named_none() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    LOG.warning("from a library")
    assert lines(stream)[0]["action"] is None


def test_line_breaks_and_traces_stay_inside_their_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        LOG.exception("it\nfailed", extra={"path": sys})
    (line,) = lines(stream)
    assert line["message"] == "it\nfailed"
    assert "ValueError: two\nlines" in str(line["trace"])


def test_a_person_reads_the_sentence_first() -> None:
    stream = Terminal()
    configure_logging(stream=stream)
    LOG.warning("waiting for %s", "kafka", extra={"partition": 3, "action": "waiting"})
    time, level, rest = stream.getvalue().rstrip("\n").split(maxsplit=2)
    assert len(time) == len("14:05:09.120")
    assert (level, rest) == ("WARNING", "waiting for kafka (action=waiting partition=3)")


def test_a_line_below_the_level_is_left_out_and_a_wrong_level_refused() -> None:
    stream = io.StringIO()
    configure_logging("warning", stream)
    LOG.info("unheard")
    assert stream.getvalue() == ""
    with pytest.raises(ValueError, match="LOUD"):
        configure_logging("loud", stream)


def test_python_warnings_are_log_lines_too() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert lines(stream)[0]["logger"] == "py.warnings"
