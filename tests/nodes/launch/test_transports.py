"""What ``--transport`` may say, and how a launch whose data go over verbs is made."""

import pytest
from tests import rdma_nodes
from tests.nodes.discover.test_ports import alike

from fabricgauge.check.networks import choose_targets
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.transports import known_transport, split_launch

PLACE = ("c1", "c2")
ASKED = MeasurementRequest(transport="verbs")


def launch_on(fabric: Fabric, name: str) -> PlannedLaunch:
    network = next(one for one in fabric.networks if one.name == name)
    return PlannedLaunch(1, None, None, PLACE, ()).pinned_to(network)


@pytest.mark.parametrize("text", ["verbs", "verbs:gid-index=3,inline=0", "verbs:queue-pair=xrc"])
def test_words_that_are_known_are_kept(text: str) -> None:
    assert known_transport(f" {text} ") == text


def test_mpi_is_the_usual_transport() -> None:
    assert known_transport("mpi") == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tcp", "choose from mpi, sockets, ofi, verbs, each but mpi with KEY=VALUE,…"),
        ("mpi:inline=0", "choose from mpi, sockets"),
        ("sockets:port=1", "no key 'port'; choose from traffic-class"),
        ("sockets:traffic-class=256", "from 0 to 255"),
        ("ofi:inline=0", "no key 'inline'; choose from provider, domain, messages"),
        ("ofi:provider=", "expected a name like tcp;ofi_rxm"),
        ("ofi:provider=-x", "expected a name like tcp;ofi_rxm"),
        ("ofi:messages=both", "expected one of tagged, plain"),
        ("verbs:", "no key ''"),
        ("verbs:window=3", "no key 'window'; choose from queue-pair, queue-pairs, gid-index"),
        ("verbs:inline", "'inline' is not valid; expected a number from 0 to 65536"),
        ("verbs:path-mtu=1500", "expected one of 256, 512, 1024, 2048, 4096"),
        ("verbs:queue-pair=srd", "expected one of rc, uc, ud, xrc"),
        ("verbs:queue-pair=dc", "(dc) need the library"),
        ("verbs:service-level=16", "from 0 to 15"),
        ("verbs:inline=-1", "not valid"),
    ],
)
def test_what_is_not_known_is_refused_with_what_there_is(text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        known_transport(text)
    assert told in str(refused.value)


def test_mpi_goes_over_the_addresses_beside_the_ports() -> None:
    fabric = alike(rdma_nodes.ROCE)
    launch, words = split_launch("verbs:inline=0", fabric, launch_on(fabric, "roce"))
    subnet = next(one.subnet for one in fabric.ip_networks)
    assert (launch.subnet, launch.ports) == (subnet, ())
    assert words == (
        "--transport", "verbs", "--rdma-ports", "mlx5_0:1", "--gid-subnet", subnet,
        "--inline", "0",
    )  # fmt: skip


def test_without_addresses_mpi_has_its_own_choice() -> None:
    fabric = alike(rdma_nodes.OPA)
    launch, words = split_launch("verbs", fabric, launch_on(fabric, "omni-path"))
    assert (launch.network, launch.subnet, launch.ports) == (None, None, ())
    assert words == ("--transport", "verbs", "--rdma-ports", "hfi1_0:1")


def test_verbs_measure_ports_alone_each_rail_by_itself() -> None:
    found = choose_targets(ASKED, alike(rdma_nodes.HDR), PLACE)
    assert [one.name for one, _ in found if one] == ["infiniband"]
    rails = choose_targets(ASKED, alike(rdma_nodes.NDR), PLACE)
    assert [one.name for one, _ in rails if one] == ["infiniband-rail1", "infiniband-rail2"]
    over_ethernet = choose_targets(ASKED, alike(rdma_nodes.ROCE), PLACE)
    assert [one.name for one, _ in over_ethernet if one] == ["roce"]


def test_where_no_ports_join_the_nodes_verbs_are_refused() -> None:
    for cards in (rdma_nodes.SLINGSHOT, rdma_nodes.EFA):
        with pytest.raises(UsageError, match="needs RDMA ports.*measure over MPI"):
            choose_targets(ASKED, alike(cards), PLACE)
    with pytest.raises(UsageError, match="no network of RDMA ports 'x' joins"):
        choose_targets(
            MeasurementRequest(transport="verbs", network=("x",)), alike(rdma_nodes.HDR), PLACE
        )
