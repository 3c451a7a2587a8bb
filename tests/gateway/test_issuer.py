"""Tokens of an OpenID Connect issuer."""

import asyncio
import hmac
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey

from tests.gateway.fake_issuer import URL, World
from tocsin_gateway.access.identity import Identity, NotAuthenticated, NotAuthorised
from tocsin_gateway.access.issuer import IssuerOptions, IssuerUnavailable


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


@pytest.mark.parametrize("form", ["PEM", "DER"])
def test_the_public_key_is_no_shared_secret(world: World, form: Any) -> None:
    """What anybody can read must not sign (RFC 8725 §2.1)."""
    (key,) = world.fake.keys
    public = key.as_bytes(encoding=form, private=False)
    header = urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').rstrip(b"=")
    signed = header + b"." + world.token().split(".")[1].encode()
    signature = urlsafe_b64encode(hmac.digest(public, signed, "sha256")).rstrip(b"=")

    with pytest.raises(NotAuthenticated):
        world.identify((signed + b"." + signature).decode())


@pytest.mark.parametrize("sub", ['"\\ud800"', '["ada"]', '""', "7", '"a\\u0000b"'])
def test_a_name_that_is_no_text_is_refused(world: World, sub: str) -> None:
    """It would stand in the audit trail."""
    with pytest.raises(NotAuthenticated):
        world.identify(world.token_of(world.claims().replace('"ada"', sub)))


@pytest.mark.parametrize(
    ("claim", "off_s", "is_good"),
    [("exp", -29, True), ("exp", -31, False), ("nbf", 29, True), ("nbf", 31, False)],
)
def test_clocks_may_differ_by_half_a_minute(
    world: World, claim: str, off_s: int, is_good: bool
) -> None:
    off: dict[str, Any] = {claim: world.clock.now_ms() // 1000 + off_s}
    token = world.token(**off)
    if is_good:
        assert world.identify(token).actor == "user:ada"
    else:
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


def test_a_key_that_the_issuer_has_withdrawn_is_good_for_ten_minutes_at_the_most(
    world: World,
) -> None:
    token = world.token()
    world.identify(token)
    world.fake.keys = [RSAKey.generate_key(2048, {"kid": "two"})]
    world.clock.advance(599_000)
    assert world.identify(token).actor == "user:ada"
    world.clock.advance(1_000)

    with pytest.raises(NotAuthenticated):
        world.identify(token)
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


@pytest.mark.parametrize(
    "answer", [(500, {}), (200, {}), (200, {"keys": [{"kty": "x"}]}), (200, [])]
)
def test_an_answer_without_keys_takes_no_known_ones_away(
    world: World, answer: tuple[int, Any]
) -> None:
    world.identify(world.token())
    world.fake.certificates = answer
    world.clock.advance(700_000)

    assert world.identify(world.token()).actor == "user:ada"


@pytest.mark.parametrize(
    "odd",
    [
        {"kty": "AKP", "alg": "ML-DSA-44", "kid": "post-quantum"},
        {"kty": "EC", "crv": "BP-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "X448", "x": "AA"},
        {"kid": "no kind"},
        "text",
        5,
    ],
)
def test_a_key_that_is_not_understood_takes_no_other_away(world: World, odd: Any) -> None:
    (key,) = world.fake.keys
    world.fake.certificates = (200, {"keys": [odd, key.as_dict(private=False)]})

    assert world.identify(world.token()).actor == "user:ada"


def test_an_issuer_that_is_away_is_asked_once_a_second(world: World) -> None:
    world.fake.answers = False
    for _ in range(3):
        with pytest.raises(IssuerUnavailable):
            world.identify(world.token())
    assert world.fake.discovered == 1
    world.fake.answers = True
    world.clock.advance(1_000)

    assert world.identify(world.token()).actor == "user:ada"


def test_an_issuer_that_hangs_holds_up_one_request(world: World) -> None:
    """The others go on with the keys that are known."""
    token = world.token()
    world.identify(token)
    world.clock.advance(600_000)

    async def others() -> list[Identity]:
        world.fake.hangs = asyncio.Event()
        held = asyncio.create_task(world.issuer.identify(token))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            found = [await world.issuer.identify(token) for _ in range(3)]
        world.fake.hangs.set()
        return [*found, await held]

    assert {each.actor for each in asyncio.run(others())} == {"user:ada"}


@pytest.mark.parametrize("claims", ["[" * 3_000, '{"a":' * 3_000])
def test_claims_without_end_are_refused(world: World, claims: str) -> None:
    with pytest.raises(NotAuthenticated):
        world.identify(world.token_of(claims))


def test_what_a_token_says_can_stand_in_an_answer(world: World) -> None:
    """Half of a surrogate pair in the name of a key is no reason for a 500."""
    header = urlsafe_b64encode(b'{"alg":"RS256","kid":"\\ud800"}').rstrip(b"=").decode()
    with pytest.raises(NotAuthenticated) as refused:
        world.identify(header + "." + world.token().split(".", 1)[1])

    assert str(refused.value).encode()


def test_without_keys_nothing_can_be_said(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.fake.answers = False
    with pytest.raises(IssuerUnavailable):
        world.identify(world.token())
    assert "no keys of the issuer: ConnectError('refused')" in caplog.text


def test_a_discovery_document_of_another_issuer_is_refused(world: World) -> None:
    world.fake.name = "https://evil.example"
    with pytest.raises(IssuerUnavailable):
        world.identify(world.token())
