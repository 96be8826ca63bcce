"""Several sources of one node, made one."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, Gpu, Inventory, PcieLink, Stack
from fabricgauge.nodes.discover.printouts.parsing import Parts, make_adapter, make_port
from fabricgauge.nodes.discover.survey.understand import MAX_TROUBLES, PartsSource, merge_sources

NO_NODE = Skipped("not asked")
BUS = "0000:61:00.0"


def adapter(**known: object) -> Adapter:
    return msgspec.structs.replace(make_adapter("x", ""), **known)


def together(*parts: Parts) -> Inventory:
    sources = [PartsSource(f"source {number}", one) for number, one in enumerate(parts, 1)]
    return merge_sources("c1", NO_NODE, sources)


def of(*adapters: Adapter) -> Parts:
    return Parts(adapters=adapters)


def test_one_bus_written_in_two_ways_is_one_adapter() -> None:
    found = together(
        of(adapter(bus=BUS, interfaces=("eth0",))), of(adapter(bus="61:00.0", firmware="6.01"))
    )
    assert [(one.interfaces, one.firmware) for one in found.adapters] == [(("eth0",), "6.01")]


def test_what_has_no_bus_is_joined_by_interface_then_by_rdma_device() -> None:
    found = together(
        of(adapter(bus=BUS, interfaces=("ib0",), rdma_devices=("mlx5_0",))),
        of(adapter(interfaces=("ib0",), driver="mlx5_core")),
        of(adapter(rdma_devices=("mlx5_0",), firmware="20.37.1014")),
    )
    assert len(found.adapters) == 1
    assert (found.adapters[0].driver, found.adapters[0].firmware) == ("mlx5_core", "20.37.1014")


def test_two_buses_stay_two_adapters_though_a_name_is_the_same() -> None:
    found = together(
        of(adapter(bus=BUS, interfaces=("eth0",)), adapter(bus="0000:62:00.0")),
        of(adapter(bus="0000:62:00.0", interfaces=("eth0",))),
    )
    assert len(found.adapters) == 2


def test_the_first_source_wins_and_a_contradiction_is_told() -> None:
    found = together(
        of(adapter(bus=BUS, firmware="6.01", pcie_now=PcieLink(8.0, 8))),
        of(adapter(bus=BUS, firmware="5.04", pcie_now=PcieLink(8.0, 4))),
    )
    assert found.adapters[0].firmware == "6.01"
    assert found.troubles == (
        f"{BUS}: source 1 gives pcie now 8 GT/s x8, source 2 gives 8 GT/s x4",
        f"{BUS}: source 1 gives firmware 6.01, source 2 gives 5.04",
    )


def test_a_version_with_the_boards_name_behind_it_is_no_contradiction() -> None:
    found = together(
        of(adapter(bus=BUS, firmware="20.37.1014")),
        of(adapter(bus=BUS, firmware="20.37.1014 (MT_0000000223)")),
    )
    assert found.troubles == ()


def test_the_adapters_firmware_is_not_the_version_of_its_rdma_drivers_interface() -> None:
    """irdma on an E810 gives 1.60; the firmware is what the interface's driver says."""
    found = together(
        of(adapter(bus=BUS, interfaces=("eth0",), rdma_devices=("rocep97s0",), driver="ice")),
        of(adapter(bus=BUS, rdma_devices=("rocep97s0",), firmware="1.60")),
        of(adapter(bus=BUS, interfaces=("eth0",), firmware="4.20 0x80017785 1.3346.0")),
        of(adapter(rdma_devices=("rocep97s0",), firmware="1.60")),
    )
    assert found.adapters[0].firmware == "4.20 0x80017785 1.3346.0"
    assert found.troubles == ()


def test_firmware_stays_as_sys_has_it_though_an_interface_adds_the_board() -> None:
    """Else a node without IPoIB would seem to have another firmware."""
    found = together(
        of(adapter(bus=BUS, rdma_devices=("mlx5_0",), firmware="20.37.1014")),
        of(adapter(bus=BUS, interfaces=("ib0",), firmware="20.37.1014 (MT_0000000223)")),
    )
    assert found.adapters[0].firmware == "20.37.1014"
    assert found.troubles == ()


@pytest.mark.parametrize(
    ("function", "interface"),
    [("hfi1", "ib_ipoib"), ("mlx4_core", "mlx4_en"), ("virtio-pci", "virtio_net")],
)
def test_two_names_of_one_adapters_drivers_are_no_contradiction(
    function: str, interface: str
) -> None:
    found = together(
        of(adapter(bus=BUS, interfaces=("ib0",), driver=function)),
        of(adapter(bus=BUS, interfaces=("ib0",), driver=interface)),
    )
    assert (found.adapters[0].driver, found.troubles) == (function, ())


def test_a_name_from_the_pci_database_goes_before_its_numbers() -> None:
    found = together(
        of(adapter(bus=BUS, product="8086:1583", vendor="8086")),
        of(adapter(bus=BUS, product="Ethernet Controller XL710", vendor="Intel Corporation")),
    )
    assert found.adapters[0].product == "Ethernet Controller XL710"
    assert found.adapters[0].vendor == "Intel Corporation"


def test_a_port_says_what_an_adapters_class_leaves_open() -> None:
    port = msgspec.structs.replace(
        make_port("x", "mlx4_0", 1), protocol="infiniband", link_layer="InfiniBand"
    )
    found = together(
        Parts(
            adapters=(adapter(bus=BUS, kind="network", rdma_devices=("mlx4_0",)),),
            rdma_ports=(port,),
        )
    )
    assert found.adapters[0].kind == "infiniband"


def test_lanes_belong_to_the_only_adapter_that_the_tool_can_mean() -> None:
    lanes = adapter(lane_mode="1x40", lane_modes=("1x40", "4x10"))
    xl710 = adapter(bus=BUS, driver="i40e", interfaces=("enp97s0",))
    found = together(of(xl710, adapter(bus="0000:02:00.0", driver="tg3")), of(lanes))
    assert found.adapters[0].lane_mode == "1x40"
    assert len(found.adapters) == 2
    two = together(of(xl710, adapter(bus="0000:b6:00.0", driver="i40e")), of(lanes))
    assert len(two.adapters) == 3
    (trouble,) = two.troubles
    assert trouble.startswith("source 2 ") and " 2" in trouble[8:]


def test_gpus_are_one_by_their_bus_and_have_nvidias_index() -> None:
    unsaid = Skipped("x")
    found = together(
        Parts(gpus=(Gpu(0, "NVIDIA 10de:2330", "0000:db:00.0", 1, ()),)),
        Parts(gpus=(Gpu(3, "NVIDIA H100", "00000000:DB:00.0", unsaid, ()),)),
        Parts(gpus=(Gpu(3, "", "", unsaid, (212.5e9,)),)),
    )
    assert found.gpus == (Gpu(3, "NVIDIA H100", "0000:db:00.0", 1, (212.5e9,)),)


def test_a_stack_that_two_sources_know_is_one_with_its_path() -> None:
    found = together(
        Parts(stacks=(Stack("openmpi", "4.1.6", ""),)),
        Parts(stacks=(Stack("openmpi", "4.1.6", "/opt/ompi"), Stack("ucx", "1.16", ""))),
    )
    assert found.stacks == (Stack("openmpi", "4.1.6", "/opt/ompi"), Stack("ucx", "1.16", ""))


def test_a_printout_of_nonsense_does_not_fill_the_report() -> None:
    found = together(Parts(troubles=tuple(f"line {n}" for n in range(500))))
    assert len(found.troubles) == MAX_TROUBLES + 1


NAMES = st.lists(st.sampled_from(["eth0", "eth1", "mlx5_0"]), max_size=2).map(tuple)
ADAPTERS = st.builds(
    lambda bus, interfaces, devices, firmware: adapter(
        bus=bus or Skipped("x"), interfaces=interfaces, rdma_devices=devices, firmware=firmware
    ),
    st.sampled_from(["", "0000:61:00.0", "61:00.0", "0000:62:00.0", "nonsense"]),
    NAMES, NAMES, st.text(max_size=5),
)  # fmt: skip


@given(st.lists(st.lists(ADAPTERS, max_size=4).map(lambda found: of(*found)), max_size=4))
def test_no_name_and_no_bus_is_lost(parts: list[Parts]) -> None:
    found = together(*parts)
    for what in ("interfaces", "rdma_devices"):
        before = {name for part in parts for one in part.adapters for name in getattr(one, what)}
        assert before == {name for one in found.adapters for name in getattr(one, what)}
    assert len(found.adapters) <= sum(len(part.adapters) for part in parts)
