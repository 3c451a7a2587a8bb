"""The handler itself."""

import signal
from concurrent.futures import Executor

from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.output import last_words, program_result
from tocsin_worker.handlers.port import Context, HandlerFailed, Success
from tocsin_worker.handlers.process.config import ProcessConfig
from tocsin_worker.handlers.process.program import Order, Program
from tocsin_worker.handlers.run_facts import run_environment
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.threads import pool

_THREADS = 16
"""That start programs: a folder on a file server may take its time."""


class ProcessHandler:
    """Runs a program with the payload as its standard input; success is exit code 0.

    There is no shell. The program gets a small environment of its own and a process group of its
    own, of which nothing is left when the attempt ends, however it ends.
    """

    type = "process"

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._threads = pool("programs", _THREADS)

    async def execute(self, run: Run, context: Context) -> Success:
        config = read_config(run.handler, ProcessConfig)
        disclosure = Disclosure(self._secrets)
        env = {name: disclosure.resolve(value) for name, value in config.env.items()}
        order = Order(
            config.argv,
            run.payload or b"null",
            {**env, **run_environment(run)},
            config.directory,
            config.user,
        )
        program = await _started(order, self._threads)
        try:
            exit_code = await program.wait()
        except BaseException:
            await program.stop()
            raise
        result = program_result(exit_code, program.stdout, program.stderr, disclosure)
        if exit_code == 0:
            return Success(result)
        words = last_words(program.stdout, program.stderr, disclosure)
        message = f"{config.argv[0]} {_ending(exit_code)}{words}"
        raise HandlerFailed(Error(code="exit_code", message=message), result)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _started(order: Order, threads: Executor) -> Program:
    """What is missing here may be there on another worker."""
    try:
        return await Program.start(order, threads)
    except (OSError, ValueError) as error:
        message = f"{order.argv[0]} could not be started: {error}"
        raise HandlerFailed(Error(code="invalid", message=message)) from error


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
