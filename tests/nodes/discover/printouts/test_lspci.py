import pytest
from tests.nodes.discover.printouts.reading import only_adapter, parse, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, PcieLink


def by_bus(case: str) -> dict[object, Adapter]:
    return {one.bus: one for one in read("lspci", case).adapters}


def test_a_link_on_half_its_lanes_is_seen_beside_what_it_could() -> None:
    adapter = by_bus("3.9--degraded")["0000:03:00.0"]
    assert adapter.pcie_now == PcieLink(5.0, 4)
    assert adapter.pcie_capable == PcieLink(8.0, 8)
    assert (adapter.driver, adapter.numa_node) == ("i40e", 0)


def test_classes_and_drivers_tell_the_technology() -> None:
    found = {bus: one.kind for bus, one in by_bus("3.9--degraded").items()}
    assert found == {
        "0000:03:00.0": "ethernet", "0000:3b:00.0": "infiniband", "0000:3b:00.1": "infiniband",
        "0000:5e:00.0": "omni-path", "0000:60:00.0": "slingshot",
    }  # fmt: skip


def test_vendor_and_product_are_parted_and_an_unknown_product_is_its_numbers() -> None:
    found = by_bus("3.9--degraded")
    names = {bus: (one.vendor, one.product) for bus, one in found.items()}
    assert names["0000:5e:00.0"] == (
        "Intel Corporation", "Omni-Path HFI Silicon 100 Series [discrete]",
    )  # fmt: skip
    assert names["0000:3b:00.0"] == ("Mellanox Technologies", "MT28908 Family [ConnectX-6]")
    assert names["0000:60:00.0"] == ("Cray Inc", "17db:0501")


def test_a_virtual_function_has_no_link_of_its_own() -> None:
    function = by_bus("3.9--degraded")["0000:3b:00.1"]
    assert isinstance(function.pcie_now, Skipped)
    assert isinstance(function.pcie_capable, Skipped)


def test_bridges_that_redirect_are_named() -> None:
    assert read("lspci", "3.9--degraded").facts["acs redirect"] == "0000:00:02.0"
    quiet = raw("lspci", "3.9--degraded").replace("ReqRedir+", "ReqRedir-")
    assert parse("lspci", quiet).facts["acs redirect"] == ""


def test_without_root_links_and_redirection_are_not_known() -> None:
    parts = read("lspci", "3.9--denied")
    assert "acs redirect" not in parts.facts
    link = parts.adapters[0].pcie_now
    assert isinstance(link, Skipped)
    assert "not run as root" in link.reason
    assert parts.adapters[0].driver == "i40e"


def test_an_adapter_without_pci_express_has_no_link() -> None:
    adapter = only_adapter(read("lspci", "3.9--vv"))
    assert (adapter.bus, adapter.driver) == ("0000:00:03.0", "virtio-pci")
    assert adapter.pcie_now == Skipped("lspci shows no LnkSta of 0000:00:03.0")
    assert isinstance(adapter.numa_node, Skipped)


def test_records_lines_and_numbers_say_the_same_of_a_device() -> None:
    record, line = (only_adapter(read("lspci", f"3.9--{form}")) for form in ("vmm-nn", "plain"))
    assert (record.bus, record.vendor, record.product) == (line.bus, line.vendor, line.product)
    numbers = only_adapter(read("lspci", "3.9--numbers"))
    assert (numbers.bus, numbers.product, numbers.kind) == ("0000:84:00.0", "8086:1583", "ethernet")
    with_driver = only_adapter(read("lspci", "3.9--vmmk"))
    assert (with_driver.driver, with_driver.numa_node) == ("i40e", 0)


@pytest.mark.parametrize(
    ("text", "product"),
    [
        ("00:01.0 Ethernet controller: Cray Inc Device 0501\n", None),
        ("00:01.0 Ethernet controller: Cray Inc Device [17db:0501]\n", "17db:0501"),
        ("Slot:\t00:01.0\nClass:\tEthernet controller\nDevice:\tDevice 0501\n", None),
        ("Slot:\t00:01.0\nClass:\tEthernet controller [0200]\nVendor:\tCray Inc [17db]\n"
         "Device:\tDevice [0501]\n", "17db:0501"),
    ],
)  # fmt: skip
def test_a_product_that_no_database_knows_is_its_numbers_or_absent(
    text: str, product: str | None
) -> None:
    found = only_adapter(parse("lspci", text)).product
    assert found == product if product else isinstance(found, Skipped)


def test_gpus_are_left_to_their_own_tool() -> None:
    text = "19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330]\n"
    parts = parse("lspci", text)
    assert (parts.adapters, parts.gpus, parts.troubles) == ((), (), ())
