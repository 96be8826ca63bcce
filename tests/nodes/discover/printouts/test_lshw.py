import json

import pytest
from tests.nodes.discover.printouts.reading import only_adapter, parse, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter
from fabricgauge.nodes.discover.printouts.adapters import parse_settings


def test_the_guides_wrapped_values_are_read_whole() -> None:
    adapter = only_adapter(read("lshw", "guide--c1"))
    assert adapter.bus == "0000:61:00.0"
    assert adapter.interfaces == ("enp97s0",)
    assert (adapter.vendor, adapter.kind) == ("Intel Corporation", "ethernet")
    assert adapter.product == "Ethernet Controller XL710 for 40GbE QSFP+"
    assert (adapter.driver, adapter.driver_version) == ("i40e", "4.18.0-305.19.1.el8_4.x86_64")
    assert adapter.firmware == "5.04 0x8000253b 1.1313.0"


def test_like_adapters_of_the_guide_differ_in_bus_and_name_only() -> None:
    one, other = only_adapter(read("lshw", "guide--c1")), only_adapter(read("lshw", "guide--c2"))
    assert (other.bus, other.interfaces) == ("0000:b6:00.0", ("enp182s0",))
    assert (one.product, one.driver, one.firmware) == (other.product, other.driver, other.firmware)


def test_several_blocks_without_indentation_are_several_adapters() -> None:
    both = raw("lshw", "guide--c1") + raw("lshw", "guide--c2")
    assert [one.interfaces for one in parse("lshw", both).adapters] == [("enp97s0",), ("enp182s0",)]


@pytest.mark.parametrize("case", ["02.19--virtio", "02.19--virtio-json", "02.19--whole-json"])
def test_a_virtio_interface_and_its_pci_device_are_one_adapter(case: str) -> None:
    parts = read("lshw", case)
    adapter = only_adapter(parts)
    assert (adapter.bus, adapter.interfaces) == ("0000:00:03.0", ("eth0",))
    assert (adapter.driver, adapter.driver_version) == ("virtio_net", "1.0.0")
    assert adapter.product == "Virtio 1.0 network device"
    assert parts.facts == {"link of eth0": "yes", "ip of eth0": "192.0.2.2"}


def test_veth_is_no_adapter() -> None:
    assert only_adapter(read("lshw", "02.19--veth-json")).interfaces == ()


def test_ports_of_one_card_are_two_adapters_and_a_bridge_is_none() -> None:
    parts = read("lshw", "02.19--two-ports")
    assert [one.bus for one in parts.adapters] == ["0000:af:00.0", "0000:af:00.1", "0000:00:06.0"]
    assert [one.kind for one in parts.adapters] == ["ethernet", "ethernet", "efa"]
    assert parts.adapters[0].firmware == "16.35.2000 (MT_0000000012)"
    assert parts.facts["speed of ens3f0np0"] == "25000000000"
    assert parts.facts["link of ens3f1np1"] == "no"
    assert "link of virbr0" not in parts.facts
    assert isinstance(parts.adapters[2].driver, Skipped)


def test_objects_without_a_list_around_them_are_read() -> None:
    kinds = [one.kind for one in read("lshw", "02.18--objects-json").adapters]
    assert kinds == ["infiniband", "omni-path"]


@pytest.mark.parametrize("between", ["", ",\n", "\n", "]["])
def test_objects_in_a_row_are_read_whatever_stands_between_them(between: str) -> None:
    one = json.dumps({"class": "network", "businfo": "pci@0000:61:00.0", "logicalname": ["a", "b"]})
    adapters = parse("lshw", f"{one}{between}{one}").adapters
    assert [adapter.interfaces for adapter in adapters] == [("a", "b"), ("a", "b")]


def test_json_that_is_cut_off_keeps_what_stood_before() -> None:
    text = raw("lshw", "02.18--objects-json")
    parts = parse("lshw", text[: len(text) - 200])
    assert [one.kind for one in parts.adapters] == ["infiniband"]
    assert "breaks off" in parts.troubles[0]


def test_something_else_is_said_to_be_no_printout_of_lshw() -> None:
    parts = parse("lshw", "\nsh: 1: lshw: not found\n")
    assert parts.adapters == ()
    (trouble,) = parts.troubles
    assert trouble.startswith("lshw: line 2: ") and "'sh: 1: lshw: not found'" in trouble


def test_a_value_may_hold_blanks_and_signs_of_equality() -> None:
    assert parse_settings("a=1 2 b=x=y firmware=5 (a=b) a=2") == {
        "a": "1 2", "b": "x=y", "firmware": "5 (a=b) a=2",
    }  # fmt: skip


def test_hostile_values_stay_as_they_are() -> None:
    device = {
        "class": "network", "businfo": "pci@0000:61:00.0", "product": "<b>\n\x1b[31m';--",
        "logicalname": "a\"b", "configuration": {"firmware": "$(x)\r\n"},
    }  # fmt: skip
    adapter: Adapter = only_adapter(parse("lshw", json.dumps([device])))
    assert adapter.product == "<b>\n\x1b[31m';--"
    assert (adapter.interfaces, adapter.firmware) == (('a"b',), "$(x)\r\n")


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    text = '[{"class": "network", "businfo": "pci@0000:61:00.0", "product": "x\\ud800"}]'
    assert only_adapter(parse("lshw", text)).product == "x?"
