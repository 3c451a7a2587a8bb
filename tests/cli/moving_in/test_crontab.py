"""crontab(5) as jobs that behave as under cron."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.job_json import parse_job
from tocsin.model.keys import JobKey
from tocsin_cli.moving_in.crontab import import_crontab
from tocsin_cli.moving_in.imports import in_shadow


def only(text: str, **options: Any) -> dict[str, Any]:
    found = import_crontab(text, **options)
    assert (len(found.jobs), found.notices) == (1, [])
    return found.jobs[0]


def test_a_line_is_a_process_named_after_its_program() -> None:
    job = only("# Nightly backup\n30 2 * * 1-5  /usr/local/bin/backup.sh --all >/dev/null 2>&1\n")

    assert job["job_id"] == "backup"
    assert job["description"] == "Nightly backup"
    assert job["schedule"] == {"cron": "30 2 * * 1-5"}
    assert job["handler"] == {
        "type": "process",
        "argv": ["/bin/sh", "-c", "/usr/local/bin/backup.sh --all >/dev/null 2>&1"],
    }


def test_it_behaves_as_under_cron() -> None:
    """It starts whatever else runs, is not tried again and not caught up."""
    job = only("@hourly x")

    assert (job["overlap"], job["catch_up"]) == ("allow_all", {"policy": "skip"})
    assert (job["retry"], job["timeout"]) == ({"max_attempts": 1}, "P1D")


def test_settings_hold_for_the_lines_after_them() -> None:
    text = """
        @daily before
        SHELL=/bin/bash
        CRON_TZ = "Europe/Berlin"
        PATH='/usr/bin:/bin'
        @daily after
    """
    before, after = import_crontab(text, timezone="Asia/Tokyo").jobs

    assert before["schedule"] == {"cron": "@daily", "timezone": "Asia/Tokyo"}
    assert before["handler"] == {"type": "process", "argv": ["/bin/sh", "-c", "before"]}
    assert after["schedule"] == {"cron": "@daily", "timezone": "Europe/Berlin"}
    assert after["handler"] == {
        "type": "process",
        "argv": ["/bin/bash", "-c", "after"],
        "env": {"PATH": "/usr/bin:/bin"},
    }


def test_the_systems_lines_name_a_user() -> None:
    job = only("17 * * * * root cd / && run-parts --report /etc/cron.hourly", system=True)

    assert job["handler"] == {
        "type": "process",
        "argv": ["/bin/sh", "-c", "cd / && run-parts --report /etc/cron.hourly"],
        "user": "root",
    }


def test_a_user_in_a_users_crontab_is_asked_about() -> None:
    found = import_crontab("17 * * * * root run-parts\n0 0 * * * rooted\n")

    assert [(notice.where, notice.lost) for notice in found.notices] == [("line 1", False)]
    assert "--system" in found.notices[0].what


def test_a_line_that_is_not_logged_is_a_line() -> None:
    assert only("-*/5 * * * * x")["schedule"] == {"cron": "*/5 * * * *"}


def test_an_empty_zone_is_the_machines() -> None:
    found = import_crontab("CRON_TZ=Asia/Tokyo\nCRON_TZ=\n@daily x\n", timezone="Europe/Berlin")

    assert found.jobs[0]["schedule"] == {"cron": "@daily", "timezone": "Europe/Berlin"}


def test_two_lines_of_one_program_have_two_ids() -> None:
    found = import_crontab("@daily /a/sync\n@hourly FOO=1 /b/sync\n@weekly /c/sync-2\n")

    assert [job["job_id"] for job in found.jobs] == ["sync", "sync-2", "sync-2-2"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("@reboot /opt/start", "@reboot"),
        ("0 0 * * 8 bad", "/schedule/cron"),
        ("@fortnightly x", "five fields"),
        ("* * * *", "five fields"),
        ("0 0 * * *", "five fields"),
    ],
)
def test_what_cannot_be_a_job_is_told_with_its_line(line: str, why: str) -> None:
    found = import_crontab(f"\n{line}\n@daily ok\n")
    (notice,) = found.notices

    assert (notice.where, notice.lost) == ("line 2", True)
    assert why in notice.what
    assert [job["job_id"] for job in found.jobs] == ["ok"]


def test_mail_and_standard_input_do_not_carry_over() -> None:
    found = import_crontab("MAILTO=me\n0 0 * * * mail -s \\%d me%hello%there\n")

    assert [(notice.where, notice.lost) for notice in found.notices] == [
        ("line 1", False),
        ("line 2", False),
    ]
    assert found.jobs[0]["handler"] == {
        "type": "process",
        "argv": ["/bin/sh", "-c", "mail -s %d me"],
    }


def test_in_shadow_nothing_is_called() -> None:
    (job,) = in_shadow(import_crontab("@daily rm -rf /").jobs)

    assert job["handler"] == {"type": "noop"}
    assert job["tags"] == {"imported-from": "crontab"}


@given(
    st.text(max_size=400)
    | st.lists(st.text("0123456789*/-,@=%# \tabc", max_size=40)).map("\n".join)
)
def test_whatever_the_file_says_the_jobs_are_valid(text: str) -> None:
    found = import_crontab(text)

    for job in found.jobs:
        parse_job(job, JobKey("default", str(job["job_id"])))
    assert len({job["job_id"] for job in found.jobs}) == len(found.jobs)
