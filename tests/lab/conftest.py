"""Labs for tests: names of their own, removed whatever happens."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricgauge.features.slurm_lab import cluster
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabState
from fabricgauge.lab.up import down, up
from fabricgauge.model.errors import FabricgaugeError

MakeLab = Callable[..., LabState]
_numbers = itertools.count()


def on(state: LabState, node: str, *argv: str, check: bool = True) -> str:
    """What a command on a node prints."""
    done = subprocess.run(
        [*entry(state, node), *argv], capture_output=True, text=True, timeout=60, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def marked(token: str) -> set[int]:
    """Processes that carry a lab's token, found without the code under test."""
    found = set()
    for entry_ in Path("/proc").iterdir():
        if entry_.name.isdigit():
            try:
                if token.encode() in (entry_ / "environ").read_bytes():
                    found.add(int(entry_.name))
            except OSError:
                continue
    return found


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skip where labs cannot be: no iproute2, or namespaces forbidden."""
    if not shutil.which("ip", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        pytest.skip("iproute2 is not installed")
    flags = ["--net", "--mount"] if os.geteuid() == 0 else ["-Urnm"]
    tried = subprocess.run(["unshare", *flags, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"namespaces are forbidden here: {tried.stderr.strip()}")


@pytest.fixture
def make_lab(namespaces: None) -> Iterator[MakeLab]:
    """Bring labs up; all are removed at the end."""
    made = []

    def make(
        *networks: NetworkSpec, nodes: tuple[str, ...] = ("c1", "c2"), slurm: bool = False
    ) -> LabState:
        name = f"t-lab-{os.getpid()}-{next(_numbers)}"
        made.append(name)
        return up(LabSpec(name, nodes, networks or (NetworkSpec("net1", 1e9),), slurm))

    yield make
    for name in made:
        down(name)


@pytest.fixture(scope="session")
def slurm_programs(namespaces: None) -> None:
    """Skip where a lab cannot have Slurm: not root, or not installed."""
    try:
        cluster.require(("c1",))
    except FabricgaugeError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def slurm_lab(slurm_programs: None, make_lab: MakeLab) -> LabState:
    """Two nodes with Slurm."""
    return make_lab(slurm=True)


STREAM = """
import socket, sys, time
role, peer, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
if role == "to":
    server = socket.create_server((peer, 5999))
    print("ready", flush=True)
    line, _ = server.accept()
    total, start = 0, time.monotonic()
    while data := line.recv(1 << 20):
        total += len(data)
    print(total / (time.monotonic() - start))
else:
    line = socket.create_connection((peer, 5999))
    end, data = time.monotonic() + seconds, bytes(1 << 18)
    while time.monotonic() < end:
        line.sendall(data)
"""


def stream_bytes_per_s(
    state: LabState, origin: str, target: str, address: str, seconds: float = 1.0
) -> float:
    """Payload rate of one TCP connection from one node to another, as the target sees it."""
    python = [sys.executable, "-I", "-S", "-c", STREAM]
    with subprocess.Popen(
        [*entry(state, target), *python, "to", address, "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        try:
            assert server.stdout.readline() == "ready\n"
            on(state, origin, *python, "from", address, str(seconds))
            return float(server.stdout.readline())
        finally:
            server.kill()
