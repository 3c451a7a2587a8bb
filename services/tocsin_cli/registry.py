"""Registering Tocsin's schemas elsewhere under the ids that stand in every record.

A Confluent-compatible registry takes an id only for a subject in the mode IMPORT.
"""

from typing import Literal, NamedTuple

import httpx

from tocsin.wire.subjects import RegisteredSchema
from tocsin_cli.failures import CONFLICT, INVALID, NEGATIVE, UNREACHABLE, CommandFailed

Result = Literal["registered", "there already"]

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 30.0


class Pushed(NamedTuple):
    """What became of one version of a subject."""

    subject: str
    version: int
    schema_id: int
    result: Result


class Registry:
    """A registry at a URL, which may hold user and password. Raises CommandFailed."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self._shown = _shown(url)
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Content-Type": _MEDIA_TYPE, "Accept": _MEDIA_TYPE},
            timeout=_TIMEOUT_S,
            transport=transport,
        )

    def push(self, schema: RegisteredSchema) -> Pushed:
        """Register the version, unless it is there. Another schema under the id is a conflict."""
        path = f"/subjects/{schema.subject}/versions"
        found = self._ask("GET", f"{path}/{schema.version}")
        is_there = found is not None and found.get("id") == schema.schema_id
        if found is not None and not is_there:
            raise CommandFailed(
                f"{schema.subject} version {schema.version} has the id {found.get('id')} there, "
                f"not {schema.schema_id}: this registry was filled by somebody else; take another",
                CONFLICT,
            )
        if not is_there:
            self._register(schema, path)
        result: Result = "there already" if is_there else "registered"
        return Pushed(schema.subject, schema.version, schema.schema_id, result)

    def close(self) -> None:
        self._http.close()

    def _register(self, schema: RegisteredSchema, path: str) -> None:
        mode = f"/mode/{schema.subject}"
        self._ask("PUT", mode, {"mode": "IMPORT"}, query={"force": "true"})
        try:
            body = {"schema": schema.text, "id": schema.schema_id, "version": schema.version}
            self._ask("POST", path, body)
        finally:
            self._ask("PUT", mode, {"mode": "READWRITE"})

    def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        query: dict[str, str] | None = None,
    ) -> dict[str, object] | None:
        """The answer, None for what is not there."""
        try:
            answer = self._http.request(method, path, json=body, params=query)
        except httpx.TransportError as error:
            raise CommandFailed(f"{self._shown}: {error}", UNREACHABLE) from error
        if answer.status_code == 404 and method == "GET":
            return None
        if not answer.is_success:
            raise CommandFailed(
                f"{method} {answer.url.copy_with(userinfo=b'')}: {answer.status_code}, "
                f"{answer.text[:300]}",
                CONFLICT if answer.status_code in (409, 422) else NEGATIVE,
            )
        try:
            document = answer.json()
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise CommandFailed(f"{self._shown} is no schema registry", NEGATIVE)
        return document


def _shown(url: str) -> str:
    """The address without user and password."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise CommandFailed(f"the registry's address: {error}", INVALID) from None
    if found.scheme not in ("http", "https") or not found.host:
        raise CommandFailed("write the registry's address as https://registry.example", INVALID)
    return str(found.copy_with(userinfo=b""))
