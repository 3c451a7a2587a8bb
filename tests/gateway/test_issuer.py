"""Tokens of an OpenID Connect issuer."""

import asyncio
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from tocsin.testing import SettableClock
from tocsin_gateway.access.identity import Identity, NotAuthenticated, NotAuthorised
from tocsin_gateway.access.issuer import Issuer, IssuerOptions, IssuerUnavailable

URL = "https://id.example/realms/ops"
OPTIONS = IssuerOptions(url=URL)
HOUR_S = 3_600


class FakeIssuer(httpx.AsyncBaseTransport):
    """Serves the discovery document and the keys that it has now; `asked` counts for keys."""

    def __init__(self) -> None:
        self.keys: list[RSAKey | ECKey] = [RSAKey.generate_key(2048, {"kid": "one"})]
        self.name = URL
        self.answers = True
        self.asked = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self.answers:
            raise httpx.ConnectError("refused")
        if request.url.path.endswith("/.well-known/openid-configuration"):
            return httpx.Response(200, json={"issuer": self.name, "jwks_uri": f"{URL}/certs"})
        self.asked += 1
        public = [key.as_dict(private=False) for key in self.keys]
        return httpx.Response(200, json={"keys": public})


class World:
    """An issuer and the gateway's view of it."""

    def __init__(self, options: IssuerOptions = OPTIONS) -> None:
        self.clock = SettableClock()
        self.fake = FakeIssuer()
        self.issuer = Issuer(options, self.clock, self.fake)

    def token(self, key: Any = None, alg: str = "RS256", **claims: object) -> str:
        """A good token unless `claims` say otherwise; None leaves one out."""
        now = self.clock.now_ms() // 1000
        good: dict[str, object] = {
            "iss": URL,
            "aud": "tocsin",
            "sub": "ada",
            "exp": now + HOUR_S,
            "tocsin_role": "editor",
            "tocsin_tenant": "acme",
        }
        used = key or self.fake.keys[0]
        said = {name: value for name, value in (good | claims).items() if value is not None}
        return jwt.encode({"alg": alg, "kid": used.kid}, said, used, [alg])

    def identify(self, token: str) -> Identity:
        return asyncio.run(self.issuer.identify(token))


@pytest.fixture
def world() -> World:
    return World()


def test_a_good_token_says_who_may_do_what_where(world: World) -> None:
    assert world.identify(world.token()) == Identity(actor="user:ada", role="editor", tenant="acme")


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"tocsin_tenant": "*"}, Identity(actor="user:ada", role="editor")),
        ({"tocsin_tenant": ["acme"]}, Identity(actor="user:ada", role="editor", tenant="acme")),
        (
            {"tocsin_role": ["x", "viewer", "operator"]},
            Identity(actor="user:ada", role="operator", tenant="acme"),
        ),
        ({"aud": ["other", "tocsin"]}, Identity(actor="user:ada", role="editor", tenant="acme")),
    ],
)
def test_claims_may_be_lists(world: World, claims: dict[str, Any], expected: Identity) -> None:
    assert world.identify(world.token(**claims)) == expected


def test_claims_may_be_nested() -> None:
    world = World(IssuerOptions(url=URL, role_claim="realm_access.roles"))
    token = world.token(realm_access={"roles": ["offline", "admin"]})

    assert world.identify(token).role == "admin"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"nbf": 99_999_999_999},
    ],
)
def test_a_token_that_is_not_good_is_refused(world: World, claims: dict[str, Any]) -> None:
    with pytest.raises(NotAuthenticated):
        world.identify(world.token(**claims))


@pytest.mark.parametrize(
    "claims",
    [
        {"tocsin_role": None},
        {"tocsin_role": "root"},
        {"tocsin_tenant": None},
        {"tocsin_tenant": "A/B"},
        {"tocsin_tenant": ["a", "b"]},
        {"tocsin_tenant": 7},
    ],
)
def test_a_token_without_role_or_tenant_may_do_nothing(
    world: World, claims: dict[str, Any]
) -> None:
    with pytest.raises(NotAuthorised):
        world.identify(world.token(**claims))


def test_a_signature_of_anybody_else_is_refused(world: World) -> None:
    """Another key under the same name, a shared secret, and none at all."""
    forged = RSAKey.generate_key(2048, {"kid": "one"})
    secret = OctKey.import_key("s" * 32, {"kid": "one"})
    header, payload, _ = world.token().split(".")
    for token in (
        world.token(key=forged),
        world.token(key=secret, alg="HS256"),
        f"{header}.{payload}.",
        "eyJhbGciOiJub25lIn0." + payload + ".",
        "a.b.c",
        "..",
    ):
        with pytest.raises(NotAuthenticated):
            world.identify(token)


def test_an_elliptic_curve_is_as_good(world: World) -> None:
    world.fake.keys = [ECKey.generate_key("P-256", {"kid": "ec"})]

    assert world.identify(world.token(alg="ES256")).actor == "user:ada"


def test_keys_are_fetched_once_and_again_when_they_are_old(world: World) -> None:
    for _ in range(3):
        world.identify(world.token())
    assert world.fake.asked == 1
    world.clock.advance(600_000)
    world.identify(world.token())
    assert world.fake.asked == 2


def test_a_new_key_is_fetched_when_a_token_names_it(world: World) -> None:
    world.identify(world.token())
    world.fake.keys.insert(0, RSAKey.generate_key(2048, {"kid": "two"}))
    world.clock.advance(10_000)

    assert world.identify(world.token()).actor == "user:ada"


def test_unknown_keys_do_not_make_the_gateway_ask_all_the_time(world: World) -> None:
    world.identify(world.token())
    world.clock.advance(10_000)
    unknown = RSAKey.generate_key(2048, {"kid": "unknown"})
    for _ in range(5):
        with pytest.raises(NotAuthenticated):
            world.identify(world.token(key=unknown))

    assert world.fake.asked == 2


def test_known_keys_are_good_while_the_issuer_is_away(world: World) -> None:
    world.identify(world.token())
    world.fake.answers = False
    world.clock.advance(700_000)

    assert world.identify(world.token()).actor == "user:ada"


def test_without_keys_nothing_can_be_said(world: World) -> None:
    world.fake.answers = False
    with pytest.raises(IssuerUnavailable):
        world.identify(world.token())


def test_a_discovery_document_of_another_issuer_is_refused(world: World) -> None:
    world.fake.name = "https://evil.example"
    with pytest.raises(IssuerUnavailable):
        world.identify(world.token())
