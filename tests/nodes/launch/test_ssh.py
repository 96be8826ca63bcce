"""The ssh launcher against real sshd, one in each node of a lab, with a throwaway key."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.nodes.launch.sshd import servers

from fabricgauge.lab.host_access import declared_networks, entry
from fabricgauge.lab.spec import HEAD, LabSpec
from fabricgauge.lab.state import LabState
from fabricgauge.lab.up import down, up
from fabricgauge.model.engine import Engine, Mpi, MpiKind
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.discover.interface import discover
from fabricgauge.nodes.launch.launch import Running
from fabricgauge.nodes.launch.launchers import ssh
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.process import run

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd needs root to log a user in"),
    pytest.mark.skipif(not Path("/usr/sbin/sshd").is_file(), reason="sshd is not installed"),
]


@pytest.fixture(scope="module")
def lab() -> Iterator[LabState]:
    state = up(LabSpec(f"ssh-test-{os.getpid()}"))
    try:
        yield state
    finally:
        down(state.name)


@pytest.fixture(scope="module")
def access(lab: LabState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostAccess]:
    """The launcher's own reach, started on the lab's head."""
    folder = tmp_path_factory.mktemp("keys")
    with servers(lab, ("c1", "c2"), folder) as config:
        made = ssh.access(("c1", "c2"), ("-F", str(config)))
        head = entry(lab, HEAD)
        hosts = tuple(Host(d.node, (*head, *d.prefix), d.remote_shell) for d in made.hosts)
        yield msgspec.structs.replace(made, hosts=hosts, head_prefix=head)


def test_discovery_through_ssh_finds_nodes_and_network(lab: LabState, access: HostAccess) -> None:
    fabric = discover(access, declared_networks(lab), keep=lambda node, raw: None)
    assert [node.hostname for node in fabric.nodes] == ["c1", "c2"]
    assert [network.name for network in fabric.networks] == ["net1"]


def test_a_node_without_sshd_is_unreached_with_sshs_own_reason(access: HostAccess) -> None:
    dead = Host("head", (*access.hosts[0].prefix[:-1], "head"), True)
    alive = access.hosts[0]
    both = msgspec.structs.replace(access, hosts=(dead, alive))
    fabric = discover(both, (), keep=lambda node, raw: None)
    assert [node.name for node in fabric.nodes] == ["c1"]
    assert "refused" in fabric.unreached[0].reason


def test_words_for_a_remote_shell_arrive_as_they_were(access: HostAccess) -> None:
    word = "a b; $(echo no) `id` '\" <b>"
    done = run(access.hosts[0].through(["printf", "%s", word]), timeout_s=20)
    assert done.stdout == word


LAUNCHERS: list[tuple[MpiKind, str, str]] = [
    ("mpich", "5.0.2", "mpiexec"),
    ("mpich", "4.0.2", "mpiexec.mpich"),
    ("openmpi", "4.1.4", "mpirun.openmpi"),
]


@pytest.mark.parametrize(("kind", "version", "name"), LAUNCHERS)
def test_each_launcher_starts_a_rank_on_each_node_through_ssh(
    kind: MpiKind, version: str, name: str, access: HostAccess, tmp_path: Path
) -> None:
    own = Path(sys.executable).parent / name
    found = str(own) if own.is_file() else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    mpi = Mpi(kind, version, Path("mpicxx"), Path(found))
    engine = Engine(Path("/bin/hostname"), mpi, "id", (), "none")
    launch = PlannedLaunch(1, None, None, ("c2", "c1"), ())
    running = Running(
        command(engine, launch, access, ()), "", tmp_path, silent_s=20, marker="ssh-test"
    )
    lines = list(running)
    assert running.ended().message == ""
    assert sorted(lines) == ["c1", "c2"]
