"""Who is like whom, and who stands out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.inventory import Adapter, Gpu, Inventory, PcieLink, Stack
from fabricgauge.nodes.discover.likeness import classify_nodes
from fabricgauge.nodes.discover.printouts.parsing import make_adapter

UNSAID = Skipped("x")


def adapter(product: str = "XL710", name: str = "eth0", bus: str = "0000:61:00.0") -> Adapter:
    return msgspec.structs.replace(
        make_adapter("x", "ethernet"), bus=bus, product=product, driver="i40e",
        firmware="6.01", interfaces=(name,),
    )  # fmt: skip


def node(name: str, **known: object) -> Node:
    interface = Interface("eth0", "i40e", "up", True, 40e9, 9000, "", (), UNSAID, UNSAID)
    made = Node(name, name, "b", "n", 64, "5.14", (interface,), {"cpu model": "Xeon"})
    return msgspec.structs.replace(made, **known)


def inventory(name: str, **known: object) -> Inventory:
    facts = {"memory bytes": str(384 << 30)}
    made = Inventory(
        name, node(name), ("/sys",), adapters=(adapter(),), stacks=(Stack("openmpi", "4.1.6", ""),),
        facts=facts,
    )  # fmt: skip
    return msgspec.structs.replace(made, **known)


def fleet(*odd: Inventory, like: int = 9) -> list[Inventory]:
    return [*(inventory(f"c{number}") for number in range(1, like + 1)), *odd]


def told(found: list[Inventory]) -> list[tuple[tuple[str, ...], str, str, str, int]]:
    return [
        (one.nodes, one.attribute, one.value, one.usual, one.usual_count)
        for like in classify_nodes(found)
        for one in like.oddities
    ]


def test_nodes_that_are_alike_are_one_class_without_odd_ones() -> None:
    (like,) = classify_nodes(fleet())
    assert len(like.nodes) == 9
    assert (like.oddities, like.splits, like.namings) == ((), (), ())
    assert like.traits["firmware of XL710"] == "6.01"


@pytest.mark.parametrize(
    ("odd", "attribute", "value", "usual"),
    [
        ({"adapters": (msgspec.structs.replace(adapter(), firmware="5.04"),)},
         "firmware of XL710", "5.04", "6.01"),
        ({"adapters": ()}, "adapter XL710", "", "ethernet"),
        ({"adapters": (adapter(), adapter("X550", "eno1", "0000:02:00.0"))},
         "adapter X550", "ethernet", ""),
        ({"node": node("odd", kernel="5.15")}, "kernel", "5.15", "5.14"),
        ({"node": node("odd", cpu_count=32)}, "processors", "32", "64"),
        ({"facts": {"memory bytes": str(352 << 30)}}, "memory", "352 GiB", "384 GiB"),
        ({"stacks": ()}, "openmpi", "", "4.1.6"),
        ({"gpus": (Gpu(0, "H100", "", UNSAID, ()),)}, "GPUs", "1 × H100", "none"),
    ],
)  # fmt: skip
def test_the_odd_one_is_named_with_the_attribute_alone(
    odd: dict[str, object], attribute: str, value: str, usual: str
) -> None:
    found = told(fleet(inventory("odd", **odd)))
    assert found == [(("odd",), attribute, value, usual, 9)]


def test_a_lost_carrier_and_a_lower_rate_are_odd() -> None:
    off = Interface("eth0", "i40e", "down", False, UNSAID, 9000, "", (), UNSAID, UNSAID)
    slow = msgspec.structs.replace(off, carrier=True, speed_bit_s=10e9)
    found = told(
        fleet(
            inventory("off", node=node("off", interfaces=(off,))),
            inventory("slow", node=node("slow", interfaces=(slow,))),
        )
    )
    assert [(nodes, value) for nodes, _, value, _, _ in found] == [
        (("off",), "no carrier"), (("slow",), "up, 10 Gb/s"),
    ]  # fmt: skip


def test_an_interfaces_name_makes_nobody_odd_and_is_shown() -> None:
    other = Interface("ens1", "i40e", "up", True, 40e9, 9000, "", (), UNSAID, UNSAID)
    named = inventory("c0", adapters=(adapter(name="ens1"),), node=node("c0", interfaces=(other,)))
    (like,) = classify_nodes(fleet(named))
    assert like.oddities == ()
    assert [(one.adapter, dict(one.names)["ens1"]) for one in like.namings] == [
        ("adapter XL710", ("c0",))
    ]


def test_the_order_of_slots_makes_nobody_odd() -> None:
    moved = inventory("c0", adapters=(adapter(bus="0000:b6:00.0"),))
    assert told(fleet(moved)) == []


def test_memory_that_differs_by_what_firmware_takes_is_the_same() -> None:
    near = inventory("c0", facts={"memory bytes": str((384 << 30) - (1 << 30))})
    assert told(fleet(near)) == []


def test_two_nodes_that_differ_have_no_majority() -> None:
    other = inventory("c2", node=node("c2", kernel="5.15"))
    (like,) = classify_nodes(fleet(other, like=1))
    assert like.oddities == ()
    assert [(one.attribute, one.values) for one in like.splits] == [
        ("kernel", (("5.14", ("c1",)), ("5.15", ("c2",))))
    ]


def test_nodes_of_another_make_are_a_class_of_their_own() -> None:
    gpus = tuple(Gpu(n, "H100", "", UNSAID, ()) for n in range(8))
    login = [
        inventory(
            f"login{n}", gpus=gpus, adapters=(adapter("X710"),),
            node=node(f"login{n}", cpu_count=16, facts={"cpu model": "EPYC"}),
        )
        for n in range(2)
    ]  # fmt: skip
    assert [like.nodes for like in classify_nodes(fleet(*login))][1] == ("login0", "login1")
    assert told(fleet(*login)) == []


def test_a_tenth_of_the_nodes_with_another_adapter_are_no_accident() -> None:
    fat = [inventory(f"fat{n}", facts={"memory bytes": str(1 << 40)}) for n in range(5)]
    assert len(classify_nodes(fleet(*fat, like=20))) == 2


def test_what_a_node_did_not_get_to_say_is_not_held_against_it() -> None:
    cut = inventory("cut", adapters=(), stacks=(), facts={"answer": "cut off"})
    assert told(fleet(cut)) == []
    assert len(classify_nodes(fleet(cut))) == 1


def test_a_node_without_a_word_is_in_no_class() -> None:
    silent = inventory("gone", node=UNSAID, sources=())
    assert all("gone" not in like.nodes for like in classify_nodes(fleet(silent)))
    assert classify_nodes([]) == ()


def test_the_numbers_of_one_node_and_the_name_of_another_are_one_product() -> None:
    numbered = msgspec.structs.replace(adapter(), product="8086:1583")
    facts = {"pci id 0000:61:00.0": "8086:1583", "memory bytes": str(384 << 30)}
    found = [inventory(f"c{n}", facts=facts) for n in range(5)]
    bare = inventory("c9", adapters=(numbered,), facts=facts)
    assert told([*found, bare]) == []


VALUES = st.text(st.characters(codec="utf-8"), max_size=8)
NODES = st.lists(st.tuples(VALUES, VALUES, VALUES, st.booleans()), min_size=1, max_size=12)


@given(NODES)
def test_every_node_is_in_one_class_and_the_majority_is_right(
    drawn: list[tuple[str, str, str, bool]],
) -> None:
    found = [
        inventory(
            f"c{number}", node=node(f"c{number}", kernel=kernel),
            adapters=(msgspec.structs.replace(adapter(product), firmware=firmware),),
            facts={"answer": "cut off"} if cut else {},
        )
        for number, (kernel, product, firmware, cut) in enumerate(drawn)
    ]  # fmt: skip
    likes = classify_nodes(found)
    assert sorted(n for like in likes for n in like.nodes) == sorted(one.name for one in found)
    for like in likes:
        for one in like.oddities:
            assert one.usual_count * 2 > len(one.nodes)
            assert one.usual != one.value
            assert set(one.nodes) <= set(like.nodes)


@pytest.mark.parametrize(("whole", "cut_off"), [(1, 2), (1, 1), (6, 3), (2, 5)])
def test_answers_that_were_cut_off_are_no_class_of_their_own(whole: int, cut_off: int) -> None:
    facts = {"answer": "cut off"}
    found = [
        *(inventory(f"cut{number}", stacks=(), facts=facts) for number in range(cut_off)),
        *fleet(like=whole),
    ]
    (like,) = classify_nodes(found)
    assert len(like.nodes) == whole + cut_off
    assert (like.oddities, like.splits) == ((), ())


def test_answers_that_were_cut_off_and_say_something_else_are_of_another_class() -> None:
    other = inventory("cut", adapters=(adapter("X550"),), facts={"answer": "cut off"})
    assert (
        len(classify_nodes([*fleet(like=3), other, msgspec.structs.replace(other, name="cut2")]))
        == 2
    )


@pytest.mark.parametrize(
    ("kib", "shown"), [(1056000000, "1,007 GiB"), (24641536, "23.5 GiB"), (1 << 34, "16,380 GiB")]
)
def test_an_amount_of_memory_is_shown_as_people_write_it(kib: int, shown: str) -> None:
    (like,) = classify_nodes([inventory("c1", facts={"memory bytes": str(kib << 10)})])
    assert like.traits["memory"] == shown


def test_virtual_functions_are_a_setting_of_their_adapter() -> None:
    parted = inventory(
        "odd",
        adapters=(adapter(), adapter("XL710 VF", "eth0v0", "0000:61:02.0")),
        facts={
            "memory bytes": str(384 << 30),
            "virtual functions 0000:61:00.0": "0000:61:02.0 0000:61:02.1",
        },
    )
    (like,) = classify_nodes(fleet(parted))
    assert not any("VF" in attribute for attribute in like.traits)
    assert told(fleet(parted)) == []
    many = [msgspec.structs.replace(parted, name=f"v{number}") for number in range(3)]
    fewer = {**parted.facts, "virtual functions 0000:61:00.0": "0000:61:02.0"}
    odd = msgspec.structs.replace(parted, facts=fewer)
    assert told([*many, odd]) == [(("odd",), "virtual functions of XL710", "1", "2", 3)]


def joined(name: str, number: int, mtu: int = 9000, interface: str = "bond0") -> Network:
    """A network of ten nodes of which ``c{number}`` has another end than the rest."""
    usual = [Member(f"c{n}", "bond0", f"10.0.0.{n}", 9000) for n in range(1, 11) if n != number]
    odd = Member(f"c{number}", interface, f"10.0.0.{number}", mtu)
    return Network(name, "10.0.0.0/24", "ethernet", 25e9, "test", (*usual, odd))


def bonded(number: int, carrier: bool = True) -> Inventory:
    made = node(f"c{number}")
    bond = Interface("bond0", "bonding", "up", carrier, 25e9, 9000, "", (), UNSAID, UNSAID)
    nodes = msgspec.structs.replace(made, interfaces=(*made.interfaces, bond))
    return inventory(f"c{number}", node=nodes)


def ends_told(found: list[Inventory], network: Network) -> list[tuple[str, str, str]]:
    (like,) = classify_nodes(found, (network,))
    return [(one.nodes[0], one.value, one.usual) for one in like.oddities]


@pytest.mark.parametrize(
    ("network", "carrier", "value"),
    [
        (joined("net", 4, mtu=1500), True, "up, 25 Gb/s, MTU 1500"),
        (joined("net", 4), False, "no carrier, MTU 9000"),
        (joined("net", 4, interface="eth0"), True, "on XL710"),
    ],
)
def test_an_end_that_is_unlike_the_others_of_its_network_is_named(
    network: Network, carrier: bool, value: str
) -> None:
    found = [bonded(number, carrier or number != 4) for number in range(1, 11)]
    assert ends_told(found, network) == [("c4", value, "up, 25 Gb/s, MTU 9000")]


def test_who_has_no_address_in_a_network_of_most_is_named_and_nobody_in_one_of_few() -> None:
    found = [bonded(number) for number in range(1, 11)]
    without = msgspec.structs.replace(joined("net", 4), members=joined("net", 4).members[:-1])
    assert ends_told(found, without) == [("c4", "", "up, 25 Gb/s, MTU 9000")]
    few = msgspec.structs.replace(without, members=without.members[:5])
    assert ends_told(found, few) == []


def test_ends_that_are_alike_make_nobody_odd_and_are_shown() -> None:
    (like,) = classify_nodes([bonded(number) for number in range(1, 11)], (joined("net", 4),))
    assert like.oddities == ()
    assert like.traits["end in net"] == "up, 25 Gb/s, MTU 9000"


def test_the_name_that_all_kernels_give_an_adapter_s_interface_is_known() -> None:
    (like,) = classify_nodes(fleet())
    assert like.names == {"adapter XL710": "eth0"}


def test_a_narrow_slot_is_told_with_what_it_could_be_even_where_all_are_narrow() -> None:
    narrow = msgspec.structs.replace(
        adapter(), pcie_now=PcieLink(16.0, 8), pcie_capable=PcieLink(16.0, 16)
    )
    (like,) = classify_nodes([inventory(f"c{number}", adapters=(narrow,)) for number in (1, 2, 3)])
    assert like.traits["PCIe of XL710"] == "4.0 x8 of 4.0 x16"


def test_a_mode_of_ipoib_that_differs_is_named() -> None:
    def with_mode(name: str, mode: str) -> Inventory:
        made = node(name)
        ib = msgspec.structs.replace(made.interfaces[0], ipoib=IpoibPort(mode, "4x EDR"))
        return inventory(name, node=msgspec.structs.replace(made, interfaces=(ib,)))

    found = [with_mode(f"c{n}", "datagram" if n == 2 else "connected") for n in range(1, 5)]
    assert told(found) == [(("c2",), "IPoIB mode of XL710", "datagram", "connected", 3)]
