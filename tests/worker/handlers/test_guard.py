"""No spelling of an internal address gets past the guard."""

import socket
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin_worker.handlers.http.guard import AddressInfo, Guard
from tocsin_worker.handlers.port import HandlerFailed

INTERNAL = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a00:1::1",
    # Spellings that the C library takes.
    "0x7f.1",
    "127.1",
    "2130706433",
    "0177.0.0.1",
    "0x7f000001",
]
NAT64 = ip_network("64:ff9b::/96")
PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"]


def info(address: str) -> AddressInfo:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return (family, socket.SOCK_STREAM, 0, "", (address, 80))


def opens(guard: Guard, host: str, address: str) -> bool:
    """Whether a socket is opened; if not, the failure must name host, address and setting."""
    try:
        with guard.heading_for(host):
            guard.open_socket(info(address)).close()
    except HandlerFailed as failed:
        error = failed.error
        assert (error.code, error.permanent) == ("target_refused", True)
        assert host in error.message
        assert "TOCSIN_HTTP_ALLOW" in error.message
        return False
    return True


@pytest.mark.parametrize("address", INTERNAL)
def test_b176_an_internal_address_is_refused_in_every_spelling(address: str) -> None:
    assert not opens(Guard(), "target.example", address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not(address: str) -> None:
    assert opens(Guard(), "target.example", address)


def test_the_refusal_names_the_address_that_a_host_led_to() -> None:
    with pytest.raises(HandlerFailed) as caught, Guard().heading_for("intranet.example"):
        Guard().open_socket(info("10.1.2.3"))
    assert "intranet.example (10.1.2.3)" in caught.value.error.message


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_alike_however_ipv6_carries_it(address: object) -> None:
    plain = ip_address(str(address))
    number = int(plain)
    mapped = ip_address(f"::ffff:{plain}")
    nat64 = ip_address(int(ip_address("64:ff9b::")) + number)
    sixtofour = ip_address((0x2002 << 112) | (number << 80))
    guard = Guard()
    for carried in (mapped, nat64, sixtofour):
        assert guard.permits("h", carried) == guard.permits("h", plain)


@given(st.ip_addresses())
def test_whatever_python_knows_to_be_internal_is_refused(address: object) -> None:
    plain = ip_address(str(address))
    internal = plain.is_private or plain.is_multicast or plain.is_reserved or plain.is_link_local
    if internal and getattr(plain, "ipv4_mapped", None) is None and plain not in NAT64:
        assert not Guard().permits("h", plain)


@pytest.mark.parametrize(
    ("allow", "host", "address"),
    [
        ("127.0.0.0/8", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.0/8", "h", "::ffff:127.0.0.1"),
        ("10.1.0.0/16", "h", "10.1.255.1"),
        ("10.1.2.3", "h", "10.1.2.3"),
        ("::1", "localhost", "::1"),
        ("localhost", "localhost", "127.0.0.1"),
        ("internal.example", "internal.example", "10.0.0.1"),
        (".internal.example", "a.b.internal.example", "10.0.0.1"),
        ("Internal.Example", "API.internal.example.", "10.0.0.1"),
    ],
)
def test_networks_and_host_suffixes_can_be_allowed(allow: str, host: str, address: str) -> None:
    assert opens(Guard([allow]), host, address)
    assert not opens(Guard(), host, address)


@pytest.mark.parametrize(
    ("allow", "host", "address"),
    [
        ("10.1.0.0/16", "h", "10.2.0.1"),
        ("internal.example", "evil-internal.example", "10.0.0.1"),
        ("internal.example", "internal.example.evil.test", "10.0.0.1"),
        ("127.0.0.1", "h", "127.0.0.2"),
        ("", "h", "127.0.0.1"),
        ("0x1", "127.0x1", "127.0.0.1"),
    ],
)
def test_an_exception_is_no_wider_than_it_says(allow: str, host: str, address: str) -> None:
    assert not opens(Guard([allow]), host, address)


@pytest.mark.parametrize(
    "item", ["10.0.0.0/33", "10.0.0.1/8", "http://x", "*.example", "a b", "::g"]
)
def test_a_wrong_exception_is_a_sentence_at_the_start(item: str) -> None:
    with pytest.raises(ValueError, match="TOCSIN_HTTP_ALLOW"):
        Guard([item])


@pytest.mark.parametrize("item", ["10.1", "0.1", ".1", "1", "svc.10.", "10.1.2"])
def test_part_of_an_address_is_no_host_suffix(item: str) -> None:
    with pytest.raises(ValueError, match=r"TOCSIN_HTTP_ALLOW.*write a network"):
        Guard([item])


def test_what_is_not_an_address_is_refused() -> None:
    assert not opens(Guard(), "h", "not-an-address")
