"""A child process that performs tasks, one at a time: `python -m … FD`, FD its socket.

It ends when its worker does, whatever it is at, and at nothing else: who stops the worker by a
signal to the whole group of processes still gets the worker's grace.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from tocsin.logs import configure_logging
from tocsin.model.runs import Error
from tocsin.tasks.context import TaskCancelled, TaskContext
from tocsin.tasks.failures import TaskFailed
from tocsin.tasks.performing import perform
from tocsin.tasks.registry import load_tasks
from tocsin.timetable.instants import to_datetime
from tocsin_worker.handlers.task.protocol import Begin, Call, Done, Failed


class Child:
    """Calls are performed on the main thread, where libraries expect to be."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._stopped = Event()
        self._sending = Lock()

    def work(self) -> None:
        """Until the worker is no more."""
        begin: Begin = self._connection.recv()
        tasks = load_tasks(begin.modules)
        Thread(target=self._listen, name="listens to the worker", daemon=True).start()
        while True:
            call = self._calls.get()
            self._send(self._performed(tasks, call))

    def _listen(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if message == "stop":
                    self._stopped.set()
                else:
                    self._stopped.clear()
                    self._calls.put(message)
        except (EOFError, OSError):
            os._exit(1)

    def _performed(self, tasks: Any, call: Call) -> object:
        task = tasks.get(call.task)
        if task is None:
            return Failed(Error(code="no_handler", message=f"no task {call.task!r} in the child"))
        try:
            return Done(perform(task, call.payload, self._context(call)))
        except TaskCancelled:
            return "cancelled"
        except TaskFailed as error:
            return Failed(error.error)

    def _context(self, call: Call) -> TaskContext:
        return TaskContext(
            run_id=call.run_id,
            tenant=call.tenant,
            job_id=call.job_id,
            attempt=call.attempt,
            max_attempts=call.max_attempts,
            scheduled_time=to_datetime(call.scheduled_time),
            is_cancelled=self._stopped.is_set,
            on_heartbeat=lambda: self._send("beat"),
        )

    def _send(self, message: object) -> None:
        with self._sending:
            self._connection.send(message)


def main() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    configure_logging()
    Child(Connection(int(sys.argv[1]))).work()


if __name__ == "__main__":
    main()
