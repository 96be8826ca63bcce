"""Whom launchers name when a rank or a connection is lost; their lines are from real runs."""

import pytest

from fabricgauge.nodes.launch.launch import find_lost_rank

HYDRA = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 18442 RUNNING AT c3
=   EXIT CODE: {}
=   CLEANING UP REMAINING PROCESSES
===================================================================================
"""
INTEL = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 1234 RUNNING AT c2
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================
"""
OPEN_MPI = "mpirun noticed that process rank 2 with PID 0 on node c3 exited on signal 9 (Killed).\n"
UNABLE = (
    "[c1][[30432,1],0][btl_tcp_endpoint.c:625:x] from c1 to: c3 Unable to connect to the peer"
    " 10.77.0.13 on port 1024: Connection timed out\n"
)
NODES = ("c1", "c2", "c3")


@pytest.mark.parametrize(
    ("text", "nodes", "what"),
    [
        (HYDRA.format(9), ("c3",), "SIGKILL"),
        (HYDRA.format(11), ("c3",), "SIGSEGV"),
        (INTEL, ("c2",), "SIGKILL"),
        (OPEN_MPI, ("c3",), "SIGKILL"),
        (UNABLE, ("c1", "c3"), "could not connect"),
        ("srun: error: c3: task 2: Killed\nsrun: error: c1: task 0: Killed\n", ("c3",), "Killed"),
        ("srun: error: Node failure on c2\n", ("c2",), "failed"),
    ],
)
def test_the_node_or_pair_of_the_first_line_is_named(
    text: str, nodes: tuple[str, ...], what: str
) -> None:
    found = find_lost_rank(f"something else\n{text}", NODES)
    assert found is not None
    assert found.nodes == nodes
    assert what in found.event


@pytest.mark.parametrize("code", [1, 6, 75, 76, 99, 114])
def test_a_rank_that_ends_itself_is_not_blamed(code: int) -> None:
    assert find_lost_rank(HYDRA.format(code), NODES) is None


def test_a_host_may_say_its_full_name() -> None:
    found = find_lost_rank("srun: error: c3.cluster.example: task 2: Killed", NODES)
    assert found is not None
    assert found.nodes == ("c3",)


def test_a_host_that_is_none_of_the_launch_is_not_blamed() -> None:
    assert find_lost_rank("srun: error: login1: task 0: Killed", NODES) is None


RESET = (
    "[1795706672.417292] [{}:30587:0]          ucp_ep.c:1518 UCX  DIAG  ep 0x7fb2b0b98080: error"
    " 'Connection reset by remote peer' on tcp/eth0 will not be handled since no error callback is"
    " installed\n"
)


@pytest.mark.parametrize(
    ("lost", "ended", "named"),
    [
        (("c1", "c2"), HYDRA.format(11).replace("c3", "c2"), ("c3",)),
        (("c1", "c2"), HYDRA.format(9), ("c3",)),
        (("c2",), HYDRA.format(11).replace("c3", "c2"), None),
        (("c1",), HYDRA.format(11), ("c3",)),
        (("c1", "c2"), "", ("c3",)),
    ],
)
def test_a_rank_that_crashes_since_its_partner_is_gone_is_not_to_blame(
    lost: tuple[str, ...], ended: str, named: tuple[str, ...] | None
) -> None:
    found = find_lost_rank("".join(map(RESET.format, lost)) + ended, NODES)
    assert (found and found.nodes) == named
