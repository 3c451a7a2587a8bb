"""The guard: no job makes a worker connect to the network that the worker stands in.

Each address is checked at the moment a socket for it is opened: for every attempt and redirect,
after name resolution, so that neither another spelling of an address nor a name server that
changes its mind gets around the check. Refused is whatever IANA's special-purpose registries do
not call globally reachable (loopback, private, link-local with the clouds' metadata services,
shared, unspecified, …), multicast, and the one metadata address that is public. An IPv6 address
that carries an IPv4 one is judged by that.

`TOCSIN_HTTP_ALLOW` lists exceptions: networks (`10.1.0.0/16`, `::1`) and host suffixes
(`internal.example` stands for itself and `*.internal.example`, and never for an address).
"""

import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from aiohttp.abc import AbstractResolver

from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed

SETTING = "TOCSIN_HTTP_ALLOW"

Address = IPv4Address | IPv6Address
AddressInfo = tuple[
    int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]
]

# Spelled out, because `is_global` differs between releases of Python.
_INTERNAL_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's metadata and health service
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_INTERNAL_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_NAT64 = IPv6Network("64:ff9b::/96")
_SUFFIX = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)


@dataclass(slots=True)
class Target:
    """Where a request is going, and what was refused on the way."""

    host: str
    refused: str | None = None


_target: ContextVar[Target] = ContextVar("target")


class Guard:
    """Decides about addresses, and opens the sockets of requests made inside `heading_for`."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """`allow`: the items of the setting; raises `ValueError` naming the one that is wrong."""
        self._networks: list[IPv4Network | IPv6Network] = []
        self._suffixes: list[str] = []
        for item in filter(None, (text.strip().lower() for text in allow)):
            self._permit(item)

    def _permit(self, item: str) -> None:
        try:
            self._networks.append(ip_network(item))
        except ValueError as error:
            if "/" in item or ":" in item or not _SUFFIX.fullmatch(item.strip(".")):
                message = f"{SETTING}: {item!r} is neither a network nor a host suffix ({error})"
                raise ValueError(message) from None
            suffix = "." + item.strip(".")
            if suffix.rpartition(".")[2].isdigit():
                message = f"{SETTING}: {item!r} is part of an address; write a network: 10.1.0.0/16"
                raise ValueError(message) from None
            self._suffixes.append(suffix)

    def permits(self, host: str, address: Address) -> bool:
        """Whether a request to `host` may connect to `address`."""
        if self._permits_name(host):
            return True
        if any(address in network for network in self._networks):
            return True
        inner = _carried(address)
        if inner is not None:
            return self.permits(host, inner)
        return _is_public(address)

    def _permits_name(self, host: str) -> bool:
        """By a suffix, which means names only: `host` may be an address."""
        if not self._suffixes or _address(host) is not None:
            return False
        return ("." + host.lower().rstrip(".")).endswith(tuple(self._suffixes))

    @contextmanager
    def heading_for(self, host: str) -> Iterator[None]:
        """Requests made inside go to `host`. Raises `HandlerFailed` in place of the connection
        error if an address was refused and no other answered."""
        target = Target(host)
        token = _target.set(target)
        try:
            yield
        except OSError as error:
            if target.refused is None:
                raise
            raise HandlerFailed(_refused(target.host, target.refused)) from error
        finally:
            _target.reset(token)

    async def examine(self, host: str, resolver: AbstractResolver) -> None:
        """For a request that a proxy will make: refuse a host that leads inside, as far as this
        worker can tell, and a name that it does not know, unless a suffix allows it. The proxy
        looks the name up again, and may find another address."""
        if self._permits_name(host):
            return
        addresses = await _addresses(host, resolver)
        if not addresses:
            raise HandlerFailed(_unknown(host))
        for text in addresses:
            address = _address(text)
            if address is None or not self.permits(host, address):
                raise HandlerFailed(_refused(host, text))

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """The socket for one address; raises `PermissionError` if it is refused."""
        target = _target.get()
        text = str(info[4][0])
        address = _address(text)
        if address is None or not self.permits(target.host, address):
            target.refused = str(address or text)
            raise PermissionError(f"{target.refused} is refused")
        return socket.socket(info[0], info[1], info[2])


async def _addresses(host: str, resolver: AbstractResolver) -> list[str]:
    if _address(host) is not None:
        return [host]
    try:
        found = await resolver.resolve(host, family=socket.AF_UNSPEC)
    except OSError:
        return []
    return [one["host"] for one in found]


def refused_scheme(url: str) -> Error:
    message = f"{url}: only http and https are allowed"
    return Error(code="target_refused", message=message, permanent=True)


def _refused(host: str, address: str) -> Error:
    where = host if host == address else f"{host} ({address})"
    message = f"{where} is an internal address; allow it with {SETTING} at the worker"
    return Error(code="target_refused", message=message, permanent=True)


def _unknown(host: str) -> Error:
    """Not permanent: a name server may have been away."""
    message = (
        f"{host} is unknown to this worker, so nobody can tell where a proxy would take it; "
        f"allow it with {SETTING} at the worker"
    )
    return Error(code="target_refused", message=message)


def _address(text: str) -> Address | None:
    """An address in whatever spelling the C library takes, None if it is none."""
    try:
        return ip_address(text)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(text))
    except OSError:
        return None


def _carried(address: Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 one: mapped, NAT64 (RFC 6052) or 6to4 (RFC 3056)."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INTERNAL_V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _INTERNAL_V6)
