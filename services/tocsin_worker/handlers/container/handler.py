"""The handler itself."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from weakref import WeakValueDictionary

import aiohttp
import msgspec

from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.container.attachment import Attachment
from tocsin_worker.handlers.container.config import ContainerConfig, RegistryAuth
from tocsin_worker.handlers.container.engine import Engine
from tocsin_worker.handlers.container.errors import EngineError
from tocsin_worker.handlers.container.orphans import Place, earlier_attempts, labels_of
from tocsin_worker.handlers.container.spec import container_spec
from tocsin_worker.handlers.container.sweep import EVERY_SECONDS, Sweep
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.output import last_words, program_result
from tocsin_worker.handlers.port import Context, HandlerFailed, Success
from tocsin_worker.handlers.run_facts import run_environment
from tocsin_worker.handlers.secrets import Secrets

LOG = logging.getLogger(__name__)

_REMOVE_SECONDS = 30.0


class ContainerHandler:
    """Runs a container with the payload as its standard input; success is exit code 0.

    At the end of an attempt that was stopped, the container is stopped, killed if it does not
    end within its grace, and removed; the attempt does not wait for that.
    """

    type = "container"

    def __init__(self, place: Place, secrets: Secrets, sweep_s: float = EVERY_SECONDS) -> None:
        """`sweep_s`: between two looks for what was left behind."""
        self._place = place
        self._secrets = secrets
        self._engine = Engine(place.socket)
        self._pulls: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._at_work: set[str] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._sweep = Sweep(self._engine, place, self._at_work, sweep_s)

    async def open(self) -> None:
        """Remove what other workers have left behind, now and from time to time."""
        await self._sweep.begin()

    async def execute(self, run: Run, context: Context) -> Success:
        config = read_config(run.handler, ContainerConfig)
        disclosure = Disclosure(self._secrets)
        env = {name: disclosure.resolve(value) for name, value in config.env.items()}
        labels = labels_of(run, context, self._place.node, config.stop_grace)
        spec = container_spec(config, {**env, **run_environment(run)}, labels)
        name = f"tocsin-{token_hex(12)}"
        with _engine_failures(disclosure):
            await self._have_image(config, disclosure)
            await self._end_earlier_attempts(run)
            self._at_work.add(name)
            creating = asyncio.ensure_future(self._engine.create(name, spec))
            try:
                await asyncio.shield(creating)
                exit_code, attachment = await self._run_to_its_end(name, run.payload or b"null")
                result = program_result(exit_code, attachment.stdout, attachment.stderr, disclosure)
                words = last_words(attachment.stdout, attachment.stderr, disclosure)
                memory = exit_code == 137 and await self._engine.was_out_of_memory(name)
            finally:
                self._end(name, config.stop_grace, creating)
        if exit_code == 0:
            return Success(result)
        why = ", out of memory" if memory else ""
        message = f"the container ended with exit code {exit_code}{why}{words}"
        raise HandlerFailed(Error(code="exit_code", message=message), result)

    async def close(self) -> None:
        """Waits for containers that are being stopped."""
        self._sweep.end()
        while self._ending:
            await asyncio.wait(self._ending)
        await self._engine.close()

    async def _run_to_its_end(self, name: str, stdin: bytes) -> tuple[int, Attachment]:
        attachment = await self._engine.attach(name)
        try:
            await self._engine.start(name)
            attachment.send(stdin)
            exit_code = await self._engine.wait(name)
            await attachment.close()
        finally:
            await attachment.abort()
        return exit_code, attachment

    async def _have_image(self, config: ContainerConfig, disclosure: Disclosure) -> None:
        """Runs that need the same image at the same time wait for one pull."""
        if config.pull == "never":
            return
        async with self._pulls.setdefault(config.image, asyncio.Lock()):
            if config.pull == "missing" and await self._engine.has_image(config.image):
                return
            await self._engine.pull(config.image, _login(config.registry_auth, disclosure))

    async def _end_earlier_attempts(self, run: Run) -> None:
        """Their lease is lost, or this attempt would not be."""
        if run.attempt > 1:
            for orphan in await earlier_attempts(self._engine, run):
                await self._engine.remove(orphan.container)

    def _end(self, name: str, grace_s: int, creating: asyncio.Future[None]) -> None:
        """A creation that was cut short may still succeed, so it is waited for."""

        async def end() -> None:
            await asyncio.wait([creating])
            await self._stop_and_remove(name, grace_s)
            self._at_work.discard(name)

        task = asyncio.get_running_loop().create_task(end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _stop_and_remove(self, name: str, grace_s: int) -> None:
        """One that has ended stops at once. What fails here is swept when its time is over."""
        try:
            async with asyncio.timeout(grace_s + _REMOVE_SECONDS):
                try:
                    await self._engine.stop(name, grace_s)
                except EngineError as error:
                    LOG.debug("stopping %s: %s", name, error.message)
                await self._engine.remove(name)
        except (EngineError, aiohttp.ClientError, OSError) as error:
            LOG.warning(
                "container %s could not be removed: %s",
                name,
                error,
                extra={"action": "container_left_behind"},
            )


def _login(auth: RegistryAuth | None, disclosure: Disclosure) -> dict[str, str] | None:
    if auth is None:
        return None
    return {
        "username": disclosure.resolve(auth.username),
        "password": disclosure.resolve(auth.password),
    }


@contextmanager
def _engine_failures(disclosure: Disclosure) -> Iterator[None]:
    """What the engine refuses here, another worker's may do; a request that makes no sense to it
    makes none anywhere."""
    try:
        yield
    except EngineError as error:
        message = f"the container engine refuses: {disclosure.hide(error.message)}"
        permanent = error.status == 400
        failure = Error(code="invalid", message=message, permanent=permanent)
        raise HandlerFailed(failure) from error
    except (aiohttp.ClientError, OSError, msgspec.DecodeError) as error:
        message = f"the container engine does not answer: {type(error).__name__}: {error}"
        raise HandlerFailed(Error(code="connect", message=message)) from error
