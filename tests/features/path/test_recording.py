"""Calls are traced over a lab's network, and over the RDMA devices of virtual machines."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import fabricgauge
from tests.live import hide
from tests.nodes.engines.path_samples import sends
from tests.rdma_guests import counted

from fabricgauge.features.path.recording import WARM_UP_CALLS, stored_paths
from fabricgauge.features.path.values import CallPath
from fabricgauge.lab.state import LabState
from fabricgauge.nodes.engines.build import VERBS_HEADER, cache_folder

pytestmark = [pytest.mark.lab, pytest.mark.engine]

REPEATS = 20


def traced(folder: Path, *options: str) -> tuple[CallPath, ...]:
    done = fabricgauge("path", "-o", str(folder), "--quiet", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = stored_paths(folder, "latest").paths
    assert {(one.traced, one.problem) for one in paths} == {(REPEATS, "")}
    return paths


@pytest.mark.slow
def test_collectives_are_traced_over_a_labs_network(
    lab: Callable[..., str], tmp_path: Path
) -> None:
    """Between two nodes each is one message, however many ranks a node has."""
    options = ("--network", "net1", "--calls", "bcast,allreduce,allreduce:4,barrier,barrier:4")
    for one in traced(tmp_path, "--lab", lab(), *options):
        assert one.way == "net1"
        assert one.usual is not None
        assert sends(one.usual) == 1, one.usual.system_calls


@pytest.mark.slow
def test_nodes_that_lack_the_tracer_get_it(lab: Callable[..., str], tmp_path: Path) -> None:
    name = lab()
    hide(name, cache_folder())
    (send,) = traced(tmp_path, "--lab", name, "--network", "net1", "--calls", "send")
    assert send.usual is not None and send.usual.instructions


@pytest.mark.slow
@pytest.mark.skipif(not VERBS_HEADER.exists(), reason="libibverbs-dev is not installed")
def test_verbs_are_traced_between_virtual_machines(roce_lab: LabState, tmp_path: Path) -> None:
    before = counted(roce_lab, "c1")["sent_pkts"]
    calls = "ibv_post_send,ibv_poll_cq"
    post, poll = traced(tmp_path, "--lab", roce_lab.name, "--calls", calls, "--limit", "300s")
    for one in (post, poll):
        assert one.way == "roce"
        assert one.usual is not None
        assert any("rxe" in name.object for name in one.usual.objects), one.usual.objects
    assert post.usual is not None
    assert poll.usual is not None
    # The driver of rxe writes its request down, and rings for it by a system call.
    assert post.usual.system_calls == {"write": 1}
    assert poll.usual.system_calls == {}
    # Rank 0 is on c1: of each message that it posts, the device sends a packet.
    assert counted(roce_lab, "c1")["sent_pkts"] - before >= 1 + WARM_UP_CALLS + REPEATS
