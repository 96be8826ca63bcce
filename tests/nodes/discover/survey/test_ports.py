"""What ceilings need of adapters and RDMA ports."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network
from fabricgauge.model.inventory import Inventory, PcieLink, RdmaPort
from fabricgauge.nodes.discover.ports import add_host_links, classify_ports, name_link
from fabricgauge.nodes.discover.printouts.parsing import make_adapter, make_port
from fabricgauge.nodes.discover.printouts.table import parse_named
from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory

FIXTURES = Path(__file__).parents[3] / "fixtures" / "survey"

NETWORK = Network(
    "data", "10.0.0.0/24", "ethernet", 40e9, "test",
    (Member("c1", "eth0", "10.0.0.1", 9000), Member("c2", "eth1", "10.0.0.2", 9000)),
)  # fmt: skip


def inventory(name: str, interface: str, link: PcieLink | Skipped, *ports: RdmaPort) -> Inventory:
    adapter = msgspec.structs.replace(
        make_adapter("x", "ethernet"), bus="0000:61:00.0", pcie_now=link,
        interfaces=(interface,), rdma_devices=("mlx5_0",),
    )  # fmt: skip
    return Inventory(name, Skipped("x"), adapters=(adapter,), rdma_ports=ports)


def port(**known: object) -> RdmaPort:
    one = msgspec.structs.replace(
        make_port("x", "mlx5_0", 1), protocol="infiniband", state="ACTIVE",
        rate_bit_s=200e9, lanes=4, lane_bit_s=53.125e9,
    )  # fmt: skip
    return msgspec.structs.replace(one, **known)


def test_one_adapter_in_a_narrow_slot_is_no_limit_for_the_others() -> None:
    ends = (inventory("c1", "eth0", PcieLink(8.0, 4)), inventory("c2", "eth1", PcieLink(8.0, 2)))
    (network,) = add_host_links((NETWORK,), ends)
    assert network.host_link == "PCIe 3.0 x4"
    found = ceiling(network)
    assert isinstance(found, Ceiling)
    assert found.binding == "host link PCIe 3.0 x4"


def test_a_member_whose_adapter_is_not_known_leaves_the_network_as_it_is() -> None:
    ends = (inventory("c1", "eth0", PcieLink(8.0, 8)), inventory("c2", "eth1", Skipped("x")))
    assert add_host_links((NETWORK,), ends) == (NETWORK,)
    assert add_host_links((NETWORK,), ends[:1]) == (NETWORK,)


@pytest.mark.parametrize(("gt_s", "name"), [(2.5, "1.0"), (8.0, "3.0"), (64.0, "6.0")])
def test_the_generation_follows_from_the_transfers(gt_s: float, name: str) -> None:
    assert name_link(PcieLink(gt_s, 16)) == f"PCIe {name} x16"


def test_a_speed_that_no_generation_has_is_no_host_link() -> None:
    assert name_link(PcieLink(7.0, 16)) == ""


def test_ports_that_are_alike_are_one_class_with_a_ceiling() -> None:
    ends = [inventory(f"c{n}", "ib0", PcieLink(16.0, 16), port()) for n in range(3)]
    (found,) = classify_ports(ends)
    ports = [(port.node, port.interface) for port in found.ports]
    assert ports == [("c0", "mlx5_0:1"), ("c1", "mlx5_0:1"), ("c2", "mlx5_0:1")]
    assert (found.network.link, found.network.assumed) == ("4x HDR", ("mtu",))
    assert isinstance(ceiling(found.network), Ceiling)


def test_a_port_that_is_down_promises_nothing() -> None:
    assert classify_ports([inventory("c1", "ib0", Skipped("x"), port(state="DOWN"))]) == ()


def test_roce_of_version_1_is_told_by_its_addresses() -> None:
    one = inventory("c1", "eth0", Skipped("x"), port(protocol="roce", mtu_bytes=1024))
    old = port(protocol="roce", mtu_bytes=1024, gid_types=("IB/RoCE v1",))
    told = msgspec.structs.replace(one, rdma_ports=(old,))
    assert [found.network.technology for found in classify_ports([one])] == ["roce-v2"]
    assert [found.network.technology for found in classify_ports([told])] == ["roce-v1"]


def test_rdma_in_software_has_no_ceiling() -> None:
    one = inventory("c1", "eth0", Skipped("x"), port(protocol="roce", mtu_bytes=1024))
    bare = msgspec.structs.replace(one, adapters=())
    (found,) = classify_ports([bare])
    assert isinstance(found.network.rate_bit_s, Skipped)
    assert isinstance(ceiling(found.network), Skipped)


def test_devices_in_software_are_one_class_whatever_they_are_called() -> None:
    rxe = [port(device=f"rxe{n}", protocol="roce", mtu_bytes=1024) for n in range(2)]
    bare = msgspec.structs.replace(inventory("c1", "eth0", Skipped("x"), *rxe), adapters=())
    (found,) = classify_ports([bare])
    assert [one.interface for one in found.ports] == ["rxe0:1", "rxe1:1"]


def test_a_port_that_opainfo_alone_tells_of_is_not_in_software() -> None:
    one = port(device="hfi1_0", protocol="omni-path", rate_bit_s=100e9)
    bare = msgspec.structs.replace(inventory("c1", "ib0", Skipped("x"), one), adapters=())
    (found,) = classify_ports([bare])
    assert found.network.rate_bit_s == 100e9
    assert isinstance(ceiling(found.network), Ceiling)


def test_classes_of_ports_have_names_that_differ_where_an_mtu_is_assumed() -> None:
    ends = [inventory("c1", "ib0", Skipped("x"), port(), port(number=2, mtu_bytes=4096))]
    assert len({found.network.name for found in classify_ports(ends)}) == 2


@pytest.mark.parametrize("driver", ["virtio-pci", "efa", "vmxnet3"])
def test_a_slot_that_a_hypervisor_presents_is_no_limit(driver: str) -> None:
    ends = []
    for name, interface in (("c1", "eth0"), ("c2", "eth1")):
        one = inventory(name, interface, PcieLink(2.5, 1), port(protocol="efa"))
        claims = msgspec.structs.replace(one.adapters[0], driver=driver)
        ends.append(msgspec.structs.replace(one, adapters=(claims,)))
    assert add_host_links((NETWORK,), ends) == (NETWORK,)
    assert classify_ports(ends)[0].network.host_link == ""


def test_a_node_with_two_hdr_ports_has_their_links_and_ipoib_of_the_same() -> None:
    """Written, not recorded: the second port runs at HDR100."""
    raw = (FIXTURES / "written-ipoib-hdr.out").read_text("utf-8")
    found = build_inventory("n3", {ANSWER: raw}, "", parse_named)
    assert found.troubles == ()
    assert not isinstance(found.node, Skipped)
    behind = [found.node.interface(name) for name in ("ibp49s0", "ibp177s0")]
    assert [one.ipoib for one in behind if isinstance(one, Interface)] == [
        IpoibPort("datagram", "4x HDR"), IpoibPort("datagram", "2x HDR")
    ]  # fmt: skip
    assert [one.network.link for one in classify_ports([found])] == ["2x HDR", "4x HDR"]
