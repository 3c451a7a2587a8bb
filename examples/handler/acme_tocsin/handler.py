"""The handler itself."""

import asyncio

from acme_tocsin.config import RedisConfig, check_redis
from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.port import Context, Equipment, HandlerFailed, Success


class RedisHandler:
    """Publishes the payload; success is that Redis has taken it. History keeps how many heard."""

    type = "acme-redis"

    def __init__(self, equipment: Equipment) -> None:
        self._secrets = equipment.secrets

    async def execute(self, run: Run, context: Context) -> Success:
        config = read_config(run.handler, RedisConfig, check_redis)
        password = config.password and Disclosure(self._secrets).resolve(config.password)
        host, _, port = config.address.rpartition(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
        except OSError as error:
            message = f"{config.address} cannot be reached: {error}"
            raise HandlerFailed(Error(code="connect", message=message)) from error
        try:
            if password is not None:
                writer.write(_command("AUTH", password))
                await _answer(reader)
            writer.write(_command("PUBLISH", config.channel, run.payload or b"null"))
            heard_by = await _answer(reader)
        finally:
            writer.close()
        return Success(b'{"heard_by": %s}' % heard_by)

    async def close(self) -> None:
        """Nothing is held between runs."""


def _command(*words: str | bytes) -> bytes:
    """As Redis wants it: the number of words, and each with its length."""
    encoded = [word if isinstance(word, bytes) else word.encode() for word in words]
    parts = [b"*%d\r\n" % len(encoded), *(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded)]
    return b"".join(parts)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """Raises `HandlerFailed`: one that Redis refuses it will refuse again."""
    line = (await reader.readline()).rstrip(b"\r\n")
    if line[:1] not in {b"+", b":"}:
        said = line.decode(errors="replace")
        message = f"Redis answers {said!r}" if said else "Redis has closed the connection"
        raise HandlerFailed(Error(code="connect", message=message, permanent=bool(said)))
    return line[1:]
