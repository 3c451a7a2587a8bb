"""Free TCP ports for a server that must find the same port free again after a restart."""

import errno
import random
import socket

from tocsin.broker.local.errors import LocalBrokerError

_LOWEST, _HIGHEST = 15_000, 32_000
"""Below every common ephemeral range (Linux from 32768, IANA from 49152): while the broker is
down, no outgoing connection of the machine can be given its port."""


def is_free(port: int) -> bool:
    """Whether a server can listen on `port` at 127.0.0.1 now.

    Raises OSError for what is not a matter of use, such as a port that needs privileges.
    """
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
            attempt.listen()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def free_port() -> int:
    """A port that nobody listens on; another process may still be faster to take it."""
    candidates = random.sample(range(_LOWEST, _HIGHEST), 1_000)
    port = next(filter(is_free, candidates), None)
    if port is None:
        raise LocalBrokerError(f"no free TCP port between {_LOWEST} and {_HIGHEST}")
    return port
