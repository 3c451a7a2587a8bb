"""A Podman of the tests' own, with one image: its service speaks the Docker Engine API.

It needs root, `podman`, `runc` or `crun`, and a `busybox` that is linked statically; in Debian
these are the packages podman, runc and busybox-static.
"""

import io
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from tocsin import clock

IMAGE = "localhost/tocsin-test:1"
_APPLETS = (
    "cat",
    "echo",
    "env",
    "false",
    "head",
    "id",
    "pwd",
    "sh",
    "sleep",
    "tail",
    "true",
    "yes",
)
_PATIENCE_MS = 60_000
_CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


_REGISTRIES = """
[[registry]]
location = "127.0.0.1:{port}"
insecure = true
"""
_PORT_FILE = "registry-port"


class NoEngine(Exception):
    """There is none to be had here; the message says what is missing."""


@contextmanager
def podman_service(folder: Path) -> Iterator[Path]:
    """The socket of a service that keeps everything below `folder`. Raises `NoEngine`."""
    runtime = next((name for name in ("runc", "crun") if shutil.which(name)), None)
    for name in ("podman", "busybox"):
        if shutil.which(name) is None:
            raise NoEngine(f"{name} is not installed")
    if runtime is None or os.geteuid() != 0:
        raise NoEngine("it takes root, and runc or crun")
    (folder / "containers.conf").write_text(_CONF.format(runtime=runtime))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (folder / _PORT_FILE).write_text(str(port))
    (folder / "registries.conf").write_text(_REGISTRIES.format(port=port))
    podman = _Podman(folder)
    podman.run("import", "-", IMAGE, stdin=root_file_system())
    service_socket = folder / "podman.sock"
    service = podman.start("system", "service", "--time", "0", f"unix://{service_socket}")
    try:
        _wait_for(service_socket, service)
        yield service_socket
    finally:
        service.terminate()
        service.wait()
        podman.run("rm", "--all", "--force", "--time", "0")


def registry_port(service: Path) -> int:
    """Where the service takes a registry on loopback to be, without TLS."""
    return int(service.with_name(_PORT_FILE).read_text())


class _Podman:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.env = {
            **os.environ,
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        }

    def command(self, *arguments: str) -> list[str]:
        places = ["--root", str(self._folder / "root"), "--runroot", str(self._folder / "run")]
        return ["podman", *places, "--storage-driver", "vfs", *arguments]

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self._folder,  # where its helpers leave notes
            env=self.env,
            stdout=nowhere,
            stderr=nowhere,
        )

    def run(self, *arguments: str, stdin: bytes = b"") -> None:
        done = subprocess.run(
            self.command(*arguments), env=self.env, input=stdin, capture_output=True, check=False
        )
        if done.returncode:
            raise NoEngine(f"podman {arguments[0]}: {done.stderr.decode(errors='replace')[-500:]}")


def root_file_system() -> bytes:
    """An archive of one with nothing but busybox."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(str(shutil.which("busybox")), "bin/busybox")
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
    return packed.getvalue()


def _wait_for(socket: Path, service: "subprocess.Popen[bytes]") -> None:
    deadline = clock.monotonic_ms() + _PATIENCE_MS
    while not socket.exists():
        if service.poll() is not None or clock.monotonic_ms() > deadline:
            raise NoEngine("podman's service does not start")
        sleep(0.05)
