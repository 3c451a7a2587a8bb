"""An OpenID Connect issuer in memory, and a gateway's view of it."""

import asyncio
import json
from typing import Any

import httpx
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

from tocsin.testing import SettableClock
from tocsin_gateway.access.identity import Identity
from tocsin_gateway.access.issuer import Issuer, IssuerOptions

URL = "https://id.example/realms/ops"
OPTIONS = IssuerOptions(url=URL)
HOUR_S = 3_600


class FakeIssuer(httpx.AsyncBaseTransport):
    """Serves the discovery document and the keys that it has now; `discovered` and `asked` count.

    certificates: a status and a document in place of the keys. hangs: what an answer waits for.
    """

    def __init__(self) -> None:
        self.keys: list[RSAKey | ECKey] = [RSAKey.generate_key(2048, {"kid": "one"})]
        self.name = URL
        self.answers = True
        self.discovered = self.asked = 0
        self.hangs: asyncio.Event | None = None
        self.certificates: tuple[int, object] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        is_discovery = request.url.path.endswith("/.well-known/openid-configuration")
        self.discovered += is_discovery
        if self.hangs is not None:
            await self.hangs.wait()
        if not self.answers:
            raise httpx.ConnectError("refused")
        if is_discovery:
            return httpx.Response(200, json={"issuer": self.name, "jwks_uri": f"{URL}/certs"})
        self.asked += 1
        if self.certificates is not None:
            return httpx.Response(self.certificates[0], json=self.certificates[1])
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
        return self.token_of(self.claims(**claims), key, alg)

    def token_of(self, text: str, key: Any = None, alg: str = "RS256") -> str:
        """A token of claims as they stand."""
        used = key or self.fake.keys[0]
        return jws.serialize_compact({"alg": alg, "kid": used.kid}, text, used, [alg])

    def claims(self, **claims: object) -> str:
        """Those of a good token unless `claims` say otherwise; None leaves one out."""
        now = self.clock.now_ms() // 1000
        good: dict[str, object] = {
            "iss": URL,
            "aud": "tocsin",
            "sub": "ada",
            "exp": now + HOUR_S,
            "tocsin_role": "editor",
            "tocsin_tenant": "acme",
        }
        said = {name: value for name, value in (good | claims).items() if value is not None}
        return json.dumps(said)

    def identify(self, token: str) -> Identity:
        return asyncio.run(self.issuer.identify(token))
