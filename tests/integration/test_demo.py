"""`tocsin demo`: everything in one terminal, and nothing after it."""

import re
import signal
from pathlib import Path

import pytest

from tests.integration.demo_process import demo_process
from tocsin.broker.local import BrokerAddress

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

STARTED = "Ctrl-C stops everything."


def test_a_demo_with_a_time_proves_its_runs_and_leaves_nothing(tmp_path: Path) -> None:
    with demo_process(tmp_path, DEMO_SECONDS="14") as demo:
        assert demo.await_end() == 0, demo.output
        found = re.search(r"occurrences due (\d+) · run once (\d+)", demo.output)
        assert found is not None
        assert int(found[1]) > 5
        assert "missed 0 · doubled 0 · lateness p50" in demo.output
        for job in ("every-2-seconds", "once", "interval", "flaky"):
            assert re.search(rf"^{job} .* succeeded$", demo.output, re.MULTILINE), demo.output
        assert re.search(r"^flaky .* 3/4 +succeeded$", demo.output, re.MULTILINE), demo.output
        demo.await_nobody()
    assert list((tmp_path / ".tocsin").iterdir()) == []


def test_what_stands_under_the_table_works_as_pasted(broker: BrokerAddress, tmp_path: Path) -> None:
    with demo_process(tmp_path, TOCSIN_BROKERS=broker.bootstrap) as demo:
        demo.await_output(STARTED)
        put = re.search(r"^curl .*?}}'$", demo.output, re.MULTILINE | re.DOTALL)
        run_list = re.search(r"^.* run list$", demo.output, re.MULTILINE)
        assert put is not None
        assert run_list is not None
        assert '"job_id":"mine"' in demo.run(put[0]).stdout
        demo.await_output("\nmine ")
        assert "default.mine." in demo.run(run_list[0]).stdout
        tocsin = run_list[0].removesuffix(" run list")
        assert demo.run(f"{tocsin} job get mine").returncode == 0
        assert demo.run(f"{tocsin} topics check").returncode == 0
        audit = demo.run(f"{tocsin} audit")
        assert audit.returncode == 0, audit.stdout
        status = demo.run(f"{tocsin} status")
        assert status.returncode == 0, status.stdout
        demo.process.send_signal(signal.SIGINT)
        assert demo.await_end() == 130
        demo.await_nobody()


def test_a_demo_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with demo_process(tmp_path) as demo:
        demo.await_output(STARTED)
        assert len(demo.living()) > 4
        demo.process.kill()
        demo.process.wait()
        demo.await_nobody()


def test_a_service_that_dies_ends_the_demo_with_its_last_words(
    broker: BrokerAddress, tmp_path: Path
) -> None:
    with demo_process(tmp_path, TOCSIN_BROKERS=broker.bootstrap) as demo:
        demo.await_output(STARTED)
        (scheduler,) = demo.living("tocsin_cli", "scheduler")
        scheduler.kill()
        assert demo.await_end() == 1
        assert "the scheduler has ended" in demo.output
        assert '"logger": "tocsin_scheduler' in demo.output.partition("has ended")[2]
        demo.await_nobody()


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, seconds: str) -> None:
    with demo_process(tmp_path, DEMO_SECONDS=seconds) as demo:
        assert demo.await_end() == 2
        assert f"DEMO_SECONDS={seconds}: write a number of seconds" in demo.output
