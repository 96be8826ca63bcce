"""One pair of virtual machines with RDMA for all tests that need it, whichever process runs them.

It is brought up when the first test asks for it and removed at the end of the session. One test
at a time has it: others' traffic would stand in the counters.
"""

import fcntl
import os
from collections.abc import Iterator

import pytest

from fabricgauge.features.rdma_lab.image import image
from fabricgauge.features.rdma_lab.qemu import DRIVERS
from fabricgauge.lab import tools
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabState, load_complete, names
from fabricgauge.lab.up import down, status, up
from fabricgauge.model.errors import LabError, ToolMissing
from fabricgauge.nodes import process

#: The first process of a session writes it; those that it starts inherit it.
_SESSION = os.environ.setdefault("PYTEST_GUESTS_OF", str(os.getpid()))

#: Large enough for the largest packets of RDMA, 4096 bytes.
_MTU_BYTES = 4200


def _name(kind: str) -> str:
    return f"t-{kind}-{_SESSION}"


def skip_without(kind: str) -> None:
    """Skip where QEMU, or a kernel for it, cannot be had."""
    try:
        tools.require(tools.GUEST_PROGRAMS)
        image(DRIVERS[kind])
    except (LabError, ToolMissing) as reason:
        pytest.skip(f"no virtual machines with RDMA here: {reason}")


def _ready(kind: str) -> LabState:
    """The pair of that kind, brought up by whoever comes first; the caller holds the lock.

    A guest whose kernel ended failed the test that had it, and no other one.
    """
    if _name(kind) in names():
        if all(one.standing for one in status(_name(kind))):
            return load_complete(_name(kind))
        down(_name(kind))
    skip_without(kind)
    return up(LabSpec(_name(kind), networks=(NetworkSpec("net1", 1e9, _MTU_BYTES),), rdma=kind))


def _alone(kind: str, folders: pytest.TempPathFactory) -> Iterator[LabState]:
    with (folders.getbasetemp().parent / f"{_name(kind)}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield _ready(kind)


@pytest.fixture
def roce_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabState]:
    """Nodes ``c1`` and ``c2`` with the device ``rxe0`` (RoCE v2), for this test alone."""
    yield from _alone("roce", tmp_path_factory)


@pytest.fixture
def iwarp_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabState]:
    """Nodes ``c1`` and ``c2`` with the device ``siw0`` (iWARP), for this test alone."""
    yield from _alone("iwarp", tmp_path_factory)


def counted(state: LabState, node: str, device: str = "rxe0") -> dict[str, int]:
    """What the node's device for RoCE has counted."""
    folder = f"/sys/class/infiniband/{device}/ports/1/hw_counters"
    done = process.run((*entry(state, node), "grep", "-r", ".", folder), timeout_s=120)
    assert done.exit_code == 0, f"{node} after {done.wall_s:.0f} s: {done}"
    lines = (line.rpartition("/")[2].partition(":") for line in done.stdout.splitlines())
    return {name: int(value) for name, _, value in lines if name != "lifespan"}


def remove_guests() -> None:
    """Remove what the tests brought up; for the first process of the session, at its end."""
    if str(os.getpid()) == _SESSION:
        for kind in DRIVERS:
            if _name(kind) in names():
                down(_name(kind))
