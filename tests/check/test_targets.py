"""Which networks are measured, which were meant to be, and when a run may be resumed."""

from types import SimpleNamespace

import msgspec
import pytest
from tests import rdma_nodes
from tests.judge import planted
from tests.nodes.discover.test_ports import alike

from fabricgauge.check import main_job
from fabricgauge.check.begin import find_changes, networks_for_tool
from fabricgauge.check.networks import (
    choose_targets,
    find_lone_interfaces,
    find_partial_networks,
    find_unjoined_networks,
)
from fabricgauge.check.target import place_ranks
from fabricgauge.logs.tools.table import TOOLS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import (
    Address,
    DeclaredNetwork,
    Fabric,
    Member,
    Network,
    Unreached,
)
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.model.words.networks import OWN_CHOICE
from fabricgauge.nodes.discover.interface import parse_fabric

PLACE = ("c1", "c2")
PLAN = Plan(
    "quick", Stopping(0.01, 0.95), False, (PlannedLaunch(1, "net1", "10.0.0.0/24", PLACE, ()),)
)


def asked(*networks: str) -> MeasurementRequest:
    return MeasurementRequest(network=networks)


def network(name: str, *nodes: str) -> Network:
    members = tuple(Member(node, "eth0", "10.0.0.1", 1500) for node in nodes)
    return Network(name, "10.0.0.0/24", "ethernet", 1e9, "declared", members)


def fabric(*networks: Network) -> Fabric:
    return msgspec.structs.replace(planted.fabric(), networks=networks)


def test_a_network_that_does_not_reach_a_placed_node_is_told_and_not_measured() -> None:
    found = fabric(network("net1", "c1", "c2"), network("net2", "c1", "c3"))
    assert [one.name for one, _ in choose_targets(asked(), found, PLACE) if one] == ["net1"]
    told = ("net2 (10.0.0.0/24) does not reach c2",)
    assert find_unjoined_networks(asked(), (), found, PLACE) == ()
    assert find_partial_networks(asked(), (), found, PLACE) == told
    declared = (DeclaredNetwork("net2", "10.0.0.0/24", 1e9, "a file"),)
    assert find_unjoined_networks(asked(), declared, found, PLACE) == told
    assert find_partial_networks(asked(), declared, found, PLACE) == ()


def test_a_network_of_most_nodes_is_measured_and_those_without_are_told() -> None:
    """One of four has lost its address in the only network, or in the second."""
    place = ("c1", "c2", "c3", "c4")
    most = network("net1", "c1", "c2", "c4")
    for found in (fabric(most), fabric(network("net0", *place), most)):
        chosen = choose_targets(asked(), found, place, partly=True)
        assert [one.name for one, _ in chosen if one] == [one.name for one in found.networks]
        assert find_unjoined_networks(asked(), (), found, place) == (
            "net1 (10.0.0.0/24) does not reach c3",
        )
    with pytest.raises(CannotRun):
        choose_targets(asked(), fabric(most), place)


def test_where_no_network_joins_most_those_of_halves_are_measured_and_told() -> None:
    place = ("c1", "c2", "c3", "c4")
    found = fabric(network("net1", "c1", "c2"), network("net2", "c3", "c4"), network("net3", "c1"))
    chosen = choose_targets(asked(), found, place, partly=True)
    assert [one.name for one, _ in chosen if one] == ["net1", "net2"]
    assert len(find_unjoined_networks(asked(), (), found, place)) == 3


def ends(*addresses: str, carrier: bool = True) -> Fabric:
    """Nodes with net1 on eth0, and these addresses on eth1; "-" for a node without eth1."""
    nodes = []
    for number, ip in enumerate(addresses, 1):
        node = planted.node(number)
        (first,) = (one for one in node.interfaces if one.name == "eth0")
        own = (Address(ip, 24),) if ip not in ("", "-") else ()
        second = msgspec.structs.replace(
            first,
            name="eth1",
            addresses=own,
            carrier=carrier or bool(own),
            speed_bit_s=Skipped(f"veth reports no physical rate (c{number}:eth1)"),
        )
        every = (first, second) if ip != "-" else (first,)
        nodes.append(msgspec.structs.replace(node, interfaces=every))
    return Fabric(tuple(nodes), (), (planted.network(),))


@pytest.mark.parametrize(
    ("found", "told", "others"),
    [
        (ends("10.78.0.11", ""), 1, 0),  # an address that is gone
        (ends("10.78.0.11", "-"), 0, 1),  # a head with a second network
        (ends("10.78.0.11", "", carrier=False), 0, 1),  # a port without a cable
        (ends("10.78.0.11", "10.79.0.12"), 0, 2),  # nobody knows
        (ends("", ""), 0, 0),
    ],
)
def test_a_second_network_that_one_node_lost_is_told(found: Fabric, told: int, others: int) -> None:
    said = find_partial_networks(asked(), (), found, PLACE)
    assert len(said) == told
    assert all("c2:eth1 has a link and no address" in one for one in said)
    assert len(find_lone_interfaces(asked(), found, PLACE)) == others
    assert (
        find_partial_networks(asked("net1"), (), found, PLACE)
        == find_lone_interfaces(asked("net1"), found, PLACE)
        == ()
    )


def test_a_port_that_most_nodes_do_not_use_is_not_missed() -> None:
    found = ends("10.78.0.11", "", "")
    assert find_partial_networks(asked(), (), found, ("c1", "c2", "c3")) == ()


def test_rdma_over_ethernet_that_nobody_asked_for_is_not_missed() -> None:
    """Of three nodes two have such ports."""
    place = (*PLACE, "c3")
    ports = tuple(Member(node, "mlx5_0:1", "", 4096) for node in PLACE)
    roce = Network("roce", "", "roce-v2", 1e11, "/sys", ports)
    found = fabric(network("net1", *place), roce)
    assert [one.name for one, _ in choose_targets(asked(), found, place) if one] == ["net1"]
    assert find_unjoined_networks(asked(), (), found, place) == ()
    told = ("roce does not reach c3",)
    assert find_unjoined_networks(asked("roce"), (), found, place) == told
    assert find_unjoined_networks(MeasurementRequest(transport="verbs"), (), found, place) == told
    assert find_unjoined_networks(asked(), (), fabric(roce), place) == told


def test_asking_for_it_by_name_is_an_error_that_lists_those_that_join() -> None:
    found = fabric(network("net1", "c1", "c2"), network("net2", "c1", "c3"))
    with pytest.raises(UsageError, match="net1"):
        choose_targets(asked("net2"), found, PLACE)


def test_a_declared_network_of_one_node_is_told_and_another_clusters_is_not() -> None:
    own = planted.network().subnet
    here = DeclaredNetwork("half", own, 1e9, "declared")
    elsewhere = DeclaredNetwork("far", "203.0.113.0/24", 1e9, "declared")
    found = msgspec.structs.replace(planted.fabric(), networks=())
    (told,) = find_unjoined_networks(asked(), (here, elsewhere), found, PLACE)
    assert told.startswith("half")


def test_no_network_at_all_names_the_nodes_that_were_not_reached() -> None:
    lost = Fabric((), (Unreached("c2", "c2 could not be reached: connection refused"),), ())
    for request in (asked(), asked("net1"), MeasurementRequest(transport="verbs")):
        with pytest.raises(CannotRun, match="c2 could not be reached: connection refused"):
            choose_targets(request, lost, PLACE)


def test_an_address_that_two_nodes_have_is_told_where_no_network_joins_them() -> None:
    (first, *_) = planted.fabric().nodes
    found = Fabric((first, msgspec.structs.replace(first, name="c2")), (), ())
    with pytest.raises(CannotRun, match="c1 and c2 have the same address 10.77.0.11: give"):
        choose_targets(asked(), found, PLACE)


def test_a_run_may_be_resumed_on_the_same_nodes() -> None:
    same = fabric(network("net1", "c1", "c2"))
    assert find_changes(PLAN, same, same) == ()


def test_a_changed_rate_or_a_lost_node_forbids_it_and_is_named() -> None:
    then = fabric(network("net1", "c1", "c2"))
    slower = msgspec.structs.replace(network("net1", "c1", "c2"), rate_bit_s=1e8)
    (told,) = find_changes(PLAN, then, fabric(slower))
    assert "100 Mb/s" in told
    assert "1 Gb/s" in told
    bare = msgspec.structs.replace(then, nodes=then.nodes[:1])
    gone = msgspec.structs.replace(bare, unreached=(Unreached("c2", "timed out"),))
    assert find_changes(PLAN, then, gone) == ("c2 was not reached (timed out)",)


def test_a_network_of_ports_is_measured_beside_its_addresses() -> None:
    found = choose_targets(asked(), alike(rdma_nodes.HDR), PLACE)
    assert [one.name for one, _ in found if one] == ["10.20.0.0/24", "infiniband"]


def test_rdma_over_ethernet_is_measured_where_it_is_asked_for() -> None:
    fabric = alike(rdma_nodes.ROCE)
    assert [one.name for one, _ in choose_targets(asked(), fabric, PLACE) if one] == [
        "10.30.0.0/24"
    ]
    assert [one.name for one, _ in choose_targets(asked("roce"), fabric, PLACE) if one] == ["roce"]


def test_a_suite_of_others_is_given_networks_of_addresses_alone() -> None:
    request = MeasurementRequest(tool="iperf3")
    found = choose_targets(request, alike(rdma_nodes.HDR), PLACE)
    assert [one.name for one, _ in found if one] == ["10.20.0.0/24"]


def test_ipoib_is_infiniband_to_nccl_by_the_rail_below_it() -> None:
    (used,) = (
        one for one in networks_for_tool(alike(rdma_nodes.HDR), TOOLS["rccl-tests"]) if one.subnet
    )
    ports = next(one for one in alike(rdma_nodes.HDR).networks if one.has_rdma_ports)
    assert (used.name, used.technology, used.link) == ("10.20.0.0/24", "infiniband", ports.link)
    assert used.mtu_bytes == ports.mtu_bytes
    assert [one.interface for one in used.members] == ["ib0", "ib0"]
    perftest = networks_for_tool(alike(rdma_nodes.HDR), TOOLS["perftest"])
    assert {one.technology for one in perftest if one.subnet} == {"ipoib"}


@pytest.mark.parametrize(
    ("tool", "order", "told"),
    [
        ("iperf3", ("c1", "c2", "c3"), "iperf3 measures two nodes, not 3"),
        ("nccl-tests", ("c1", "c2", "c2"), "name each node once"),
    ],
)
def test_more_nodes_than_a_suite_measures_are_refused(
    tool: str, order: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        place_ranks(MeasurementRequest(tool=tool, rank_order=order), ("c1", "c2", "c3"))


def test_suites_of_collectives_take_more_than_two_nodes() -> None:
    nodes = ("c1", "c2", "c3")
    for tool in ("nccl-tests", "rccl-tests"):
        assert place_ranks(MeasurementRequest(tool=tool), nodes) == nodes


def test_an_ethernet_with_rdma_devices_is_roce_to_nccl_and_without_is_tcp() -> None:
    nccl, perftest = TOOLS["nccl-tests"], TOOLS["perftest"]
    roce, plain = alike(rdma_nodes.ROCE), Fabric(
        (planted.node(1), planted.node(2)), (), (planted.network(),)
    )  # fmt: skip
    assert "roce-v2" in {one.technology for one in networks_for_tool(roce, nccl) if one.subnet}
    assert {one.technology for one in networks_for_tool(plain, nccl)} == {"ethernet"}
    assert {one.technology for one in networks_for_tool(plain, perftest)} == {"roce-v2"}


NCCL = MeasurementRequest(tool="nccl-tests")


def railed(*names: str) -> Fabric:
    return fabric(*(network(name, *PLACE) for name in names))


def test_the_name_of_a_network_means_all_its_rails_and_a_rail_s_own_means_itself() -> None:
    found = railed("net1-rail1", "net1-rail2", "net2")
    for said, meant in (
        (("net1",), ["net1-rail1", "net1-rail2"]), (("net1-rail2",), ["net1-rail2"]),
        (("net1-rail2", "net1"), ["net1-rail2", "net1-rail1"]), ((), found.networks),
    ):  # fmt: skip
        request = msgspec.structs.replace(NCCL, network=said)
        chosen = [one.name for one, _ in choose_targets(request, found, PLACE) if one]
        assert chosen == [getattr(one, "name", one) for one in meant]
    declared = DeclaredNetwork("net1", "10.0.0.0/24", 1e9, "declared")
    assert find_unjoined_networks(NCCL, (declared,), found, PLACE) == ()


def test_a_rail_that_a_node_lacks_is_told() -> None:
    for having in (("c1",), ("c1", "c3")):
        found = fabric(network("net1-rail1", "c1", "c2"), network("net1-rail2", *having))
        request = msgspec.structs.replace(NCCL, network=("net1",))
        assert [one.name for one, _ in choose_targets(request, found, PLACE) if one] == [
            "net1-rail1"
        ]
        told = find_unjoined_networks(request, (), found, PLACE)
        assert told == ("net1-rail2 (10.0.0.0/24) does not reach c2",)


def test_rails_that_nobody_can_tell_apart_are_not_measured_by_nccl_and_it_is_told() -> None:
    members = tuple(
        Member(node, interface, "10.0.0.1", 1500)
        for node, interface in (("c1", "ens1"), ("c1", "ens2"), ("c2", "enp3"))
    )
    mixed = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "declared", members)
    other = network("net2", *PLACE)
    assert [one for one, _ in choose_targets(NCCL, fabric(mixed, other), PLACE)] == [other]
    (told,) = find_unjoined_networks(NCCL, (), fabric(mixed, other), PLACE)
    assert "was not measured: c1 has ens1 and ens2 and c2 has enp3 in it" in told
    with pytest.raises(CannotRun, match="unknown which of them are one rail"):
        choose_targets(NCCL, fabric(mixed), PLACE)
    # Our own engine, and the other suites, measure such a network as one.
    for request in (asked(), MeasurementRequest(tool="iperf3")):
        assert [one for one, _ in choose_targets(request, fabric(mixed), PLACE)] == [mixed]
        assert find_unjoined_networks(request, (), fabric(mixed), PLACE) == ()


def of_kind(name: str, technology: str, rate: float, rails: int = 1) -> Network:
    found = network(name, *PLACE)
    return msgspec.structs.replace(found, technology=technology, rate_bit_s=rate, rails=rails)


def chosen_for(words: str, *networks: Network) -> list[str | None]:
    return [
        one.name if one else None
        for one, _ in choose_targets(asked(words), fabric(*networks), PLACE)
    ]


def test_stated_rails_mean_the_network_that_has_them() -> None:
    """The name of a network with two rails is found by what it is, as an import states it."""
    rails = [of_kind(f"omni-path-rail{number}", "omni-path", 100e9) for number in (1, 2)]
    both = of_kind("omni-path", "omni-path", 100e9, 2)
    assert chosen_for("opa100 rails=2", both, *rails) == ["omni-path"]
    with pytest.raises(UsageError, match="opa100 rails=4"):
        chosen_for("opa100 rails=4", both, *rails)


def test_stated_rails_mean_as_many_networks_at_once() -> None:
    two = (of_kind("net1", "ethernet", 1e9), of_kind("net2", "ethernet", 1e9))
    assert chosen_for("1GbE rails=2", *two) == [None]
    for words in ("1GbE rails=3", "10GbE rails=2", "opa100 rails=2", "1GbE"):
        with pytest.raises(UsageError, match="available: net1, net2"):
            chosen_for(words, *two)
    with pytest.raises(UsageError, match="name it alone"):
        choose_targets(asked("1GbE rails=2", "net1"), fabric(*two), PLACE)
    with pytest.raises(UsageError):
        choose_targets(
            MeasurementRequest(network=("1GbE rails=2",), tool="osu"), fabric(*two), PLACE
        )


def test_a_host_is_measured_beside_what_mpi_chose_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MPI's own choice has a name in verdicts, and none in launches."""
    cases = (Case("bandwidth/1048576/0>1", "bandwidth", 2**20, 64, 0, 1, 1.0),)
    plan = msgspec.structs.replace(PLAN, launches=(PlannedLaunch(1, None, None, PLACE, cases),))
    run = Run("r", "", (), {}, fabric(), plan, (), complete=True)
    measured: list[PlannedLaunch] = []
    context = SimpleNamespace(
        run=run, context_now=lambda: None, progress=SimpleNamespace(stage=lambda _: None)
    )
    monkeypatch.setattr(main_job, "below_pass", lambda _: (OWN_CHOICE,))
    monkeypatch.setattr(main_job, "measure", lambda _, launches: measured.extend(launches))
    main_job._measure_reference_host(context)  # type: ignore[arg-type]
    assert [(launch.network, launch.nodes) for launch in measured] == [
        ("loopback:c1", ("c1", "c1"))
    ]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("state: 4: ACTIVE", "state: 1: DOWN"), "c2:mlx5_0:1 is DOWN"),
        (("0xffff", "0x8001"), "c2:mlx5_0:1 is ACTIVE in .*partitions 0x8001"),
    ],
    ids=["down", "partition"],
)
def test_ports_that_join_nothing_are_named_with_what_separates_them(
    change: tuple[str, str], word: str
) -> None:
    raw = {node: rdma_nodes.answer(number, rdma_nodes.HDR) for number, node in enumerate(PLACE, 1)}
    assert change[0] in raw["c2"]
    raw["c2"] = raw["c2"].replace(*change)
    found = parse_fabric(raw, PLACE, (), virtual=False)
    with pytest.raises(UsageError, match=word) as failure:
        choose_targets(asked("infiniband"), found, PLACE)
    assert "available: 10.20.0.0/24" in str(failure.value)


def test_technology_that_no_node_has_is_stated() -> None:
    with pytest.raises(UsageError, match="no node has a port of infiniband"):
        choose_targets(asked("infiniband"), alike(rdma_nodes.ROCE), PLACE)


def test_network_of_ports_is_known_by_its_technology_too() -> None:
    found = alike(rdma_nodes.ROCE)
    for name in ("roce", "roce-v2"):
        assert [one.name for one, _ in choose_targets(asked(name), found, PLACE) if one] == ["roce"]
    with pytest.raises(UsageError, match="available"):
        choose_targets(asked("roce-v1"), found, PLACE)
