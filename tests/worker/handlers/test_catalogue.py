"""Which handlers a worker has: those that come with Tocsin, and those that are installed."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.worker.support import a_run
from tocsin.model.jobs import Handler
from tocsin.settings import InvalidSettings, load_settings
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.port import Equipment, Success
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

EQUIPMENT = Equipment("w-1", load_settings({}), Secrets(None, {"TOCSIN_SECRET_MAIL": "s3cret"}))
MAIL = """
    from tocsin_worker.handlers.port import Success

    class MailHandler:
        type = "acme-mail"

        def __init__(self, equipment):
            self.greeting = f"{equipment.worker} {equipment.secrets.resolve('secret://mail')}"

        async def execute(self, run, context):
            return Success(b'"%s"' % self.greeting.encode())

        async def close(self):
            return None

    def broken(equipment):
        raise RuntimeError("no mail server")
"""


class SitePackages:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.module = folder / "acme_tocsin.py"
        self.module.write_text(dedent(MAIL))

    def install(self, **points: str) -> None:
        info = self._folder / "acme_tocsin-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tocsin\nVersion: 1.2\n")
        lines = [f"{name.replace('_', '-')} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[tocsin.handlers]", *lines]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SitePackages]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield SitePackages(tmp_path)
    sys.modules.pop("acme_tocsin", None)


def test_what_comes_with_tocsin_and_needs_no_setting_is_always_there() -> None:
    assert {"http", "noop"} <= set(catalogue.registry(EQUIPMENT).types)


def test_an_installed_distribution_adds_a_handler(site: SitePackages) -> None:
    site.install(acme_mail="acme_tocsin:MailHandler")
    handler = catalogue.registry(EQUIPMENT).handler("acme-mail")
    run = a_run(handler=Handler(type="acme-mail", config=b'{"to": "ada"}'))
    assert asyncio.run(handler.execute(run, CONTEXT)) == Success(b'"w-1 s3cret"')


@pytest.mark.parametrize(
    ("points", "told"),
    [
        ({"acme_mail": "acme_tocsin:absent"}, "AttributeError"),
        ({"acme_mail": "acme_absent:MailHandler"}, "No module named 'acme_absent'"),
        ({"acme_mail": "acme_tocsin:broken"}, "no mail server"),
        ({"acme_post": "acme_tocsin:MailHandler"}, "name it after its type"),
    ],
)
def test_a_handler_that_cannot_be_had_is_a_sentence_at_the_start(
    site: SitePackages, points: dict[str, str], told: str
) -> None:
    site.install(**points)
    with pytest.raises(InvalidSettings, match=r"acme-tocsin 1\.2") as caught:
        catalogue.registry(EQUIPMENT)
    assert told in str(caught.value)


def test_no_distribution_takes_the_type_of_another_handler(site: SitePackages) -> None:
    site.module.write_text(site.module.read_text().replace('"acme-mail"', '"http"'))
    site.install(http="acme_tocsin:MailHandler")
    with pytest.raises(InvalidSettings, match="two handlers for the type 'http'"):
        catalogue.registry(EQUIPMENT)
