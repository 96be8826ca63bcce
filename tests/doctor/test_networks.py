"""Planted faults of addresses and subnets; each is named alone."""

import msgspec
from tests.doctor import clusters
from tests.doctor.clusters import NO, clean, findings, only, with_interface, with_pings

from fabricgauge.model.fabric import Address, Fabric, Interface, Node
from fabricgauge.model.finding import Command, Severity
from fabricgauge.model.preflight import Head, Ping, Preflight


def test_a_duplicate_address_is_that_of_the_node_whose_name_means_another() -> None:
    preflight = with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.1", 24),))
    found = only(preflight)
    assert (found.check, found.where, found.nodes) == ("addresses", "c2:eth0", ("c2",))
    assert found.what == "has the address 10.1.0.1 of c1:eth0"
    command, *forgetting = found.mends
    assert command.argv[-3:] == ("10.1.0.1/24", "10.1.0.2/24", "eth0")
    assert [one.node for one in forgetting] == ["c1", "c3", "c4"]
    assert {one.argv for one in forgetting} == {("ip", "neigh", "flush", "to", "10.1.0.1")}
    assert any(line.startswith("therefore names: c2") for line in found.evidence)


def test_echoes_that_reach_the_other_holder_of_an_address_are_nobody_elses_fault() -> None:
    """c2's answers go to c3, whose address it has, and the other way round."""
    preflight = with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.3", 24),))

    def astray(ping: Ping) -> Ping:
        twins = {ping.source, ping.target} & {"c2", "c3"}
        if ping.network != "eth" or not twins or ping.whole:
            return ping
        ip = "10.1.0.3" if ping.source in twins else ping.source_ip
        return msgspec.structs.replace(ping, source_ip=ip, received=ping.sent // 2)

    found = only(with_pings(preflight, astray))
    assert (found.check, found.where) == ("addresses", "c2:eth0")
    assert len([line for line in found.evidence if line.startswith("therefore ping")]) == 2


def test_a_duplicate_address_without_names_is_that_of_both() -> None:
    preflight = with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.1", 24),))
    preflight = msgspec.structs.replace(preflight, lookups=())
    found = only(preflight)
    assert (found.where, found.nodes) == ("c1:eth0 and c2:eth0", ("c1", "c2"))
    assert found.mends == ()


def test_a_bridge_of_containers_may_have_one_address_on_some_nodes() -> None:
    """On another one somebody chose another subnet for it, or switched it off."""
    assert findings(with_interface(clean(), "c2:docker0", addresses=())) == []
    other = (Address("172.18.0.1", 16),)
    assert findings(with_interface(clean(), "c2:docker0", addresses=other)) == []


def test_an_address_of_a_network_is_a_duplicate_on_bridges_as_well() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_interface(preflight, f"{name}:eth0", driver="bridge", speed_bit_s=NO)
    found = only(with_interface(preflight, "c2:eth0", addresses=(Address("10.1.0.1", 24),)))
    assert (found.check, found.where) == ("addresses", "c2:eth0")


def test_ends_of_containers_links_share_a_mac_by_design() -> None:
    """Calico gives ee:ee:ee:ee:ee:ee to each; the kernel adds a link-local address."""
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_interface(
            preflight, f"{name}:docker0", driver="veth", carrier=True, operstate="up",
            mac="ee:ee:ee:ee:ee:ee", addresses=(Address("fe80::ecee:eeff:feee:eeee", 64),),
        )  # fmt: skip
    assert findings(preflight) == []


def test_one_mac_on_two_nodes_is_named() -> None:
    found = only(with_interface(clean(), "c2:eth0", mac="02:00:00:00:00:01"))
    assert (found.check, found.where) == ("addresses", "c1:eth0 and c2:eth0")


def test_two_names_of_one_node_are_named_and_its_addresses_are_no_duplicates() -> None:
    preflight = clean(2)
    first, second = preflight.fabric.nodes
    twin = msgspec.structs.replace(second, boot_id=first.boot_id, interfaces=first.interfaces)
    fabric = msgspec.structs.replace(preflight.fabric, nodes=(first, twin), networks=())
    found = only(Preflight(fabric, ()))
    assert found.what == "are names of one and the same node"


def without_address(*names: str) -> Preflight:
    preflight = clean()
    for name in names:
        preflight = with_interface(preflight, f"{name}:eth0", addresses=())
    for net in preflight.fabric.networks[:1]:
        left = tuple(one for one in net.members if one.node not in names)
        preflight = clusters.with_network(preflight, net.name, members=left)
    pings = tuple(p for p in preflight.pings if not {p.source, p.target} & set(names))
    return msgspec.structs.replace(preflight, pings=pings)


def test_a_node_that_lacks_the_address_of_its_like_is_named_and_its_name_with_it() -> None:
    found = only(without_address("c2"))
    assert (found.check, found.where, found.severity) == ("members", "c2", Severity.FAIL)
    assert found.evidence[:2] == (
        "eth is 10.1.0.0/24; c1, c3 and c4 are in it",
        "c2 has eth0 without address and ib0 10.2.0.2",
    )
    assert found.evidence[2].startswith("therefore names: c2: does not have 10.1.0.2")


def test_a_network_of_the_smaller_part_of_like_nodes_is_not_missed_by_the_others() -> None:
    assert not [one for one in findings(without_address("c2", "c3")) if one.check == "members"]
    quick = msgspec.structs.replace(without_address("c2"), inventories=(), lookups=())
    assert "members" not in {one.check for one in findings(quick)}


def guide(mask: int) -> Preflight:
    """The validation guide's nodes: 1 GbE, 40 GbE and Omni-Path, all with one netmask."""
    nodes = []
    for number, fast in ((1, "enp97s0"), (2, "enp182s0")):
        places = (
            ("eno1", "igb", 1e9, f"10.10.1.{20 + number}"),
            (fast, "i40e", 40e9, f"10.10.40.{20 + number}"),
            ("ib0", "hfi1", 100e9, f"10.10.100.{20 + number}"),
        )
        interfaces = tuple(
            Interface(
                name, driver, "up", True, rate, 1500, f"02:00:00:00:{number:02}:{len(name):02}",
                (Address(ip, mask),), NO, NO,
            )
            for name, driver, rate, ip in places
        )  # fmt: skip
        nodes.append(Node(f"c{number}", "c", f"b{number}", "net", 64, "4.18", interfaces, {}))
    return Preflight(Fabric(tuple(nodes), (), ()), ())


def test_the_guides_netmask_puts_its_three_networks_into_one_and_is_named_once() -> None:
    found = only(guide(8))
    assert (found.check, found.where, found.severity) == ("subnets", "c1 and c2", Severity.FAIL)
    assert found.what == "has 3 interfaces in one subnet, 10.0.0.0/8"
    for told in ("c1:enp97s0 10.10.40.21/8", "c2:ib0 10.10.100.22/8", "c2:enp182s0 10.10.40.22/8"):
        assert told in found.evidence
    assert "/24" in found.remedy
    assert findings(guide(24)) == []


def test_a_wide_netmask_on_one_node_comes_with_the_commands_that_mend_it() -> None:
    found = only(with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.2", 8),)))
    assert (found.check, found.where) == ("subnets", "c2:eth0")
    assert found.mends == (
        Command("c2", ("ip", "addr", "add", "10.1.0.2/24", "brd", "+", "dev", "eth0")),
        Command("c2", ("ip", "addr", "del", "10.1.0.2/8", "dev", "eth0")),
    )


def test_an_odd_netmask_that_overlaps_nothing_is_named_as_well() -> None:
    found = only(with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.2", 25),)))
    assert (found.check, found.what) == ("subnets", "has netmask /25, eth has /24")


def beside_a_head(ip: str, *wires: str, **changes: object) -> Preflight:
    """A sound cluster, and the machine that starts the launches, with an address in its network."""
    number = int(ip.rpartition(".")[2])
    plain = clusters.node(number)
    head = msgspec.structs.replace(
        plain, name="head", hostname="head", boot_id="boot-head",
        interfaces=(clusters.interface(
            str(changes.pop("name", "eno1")), ip, "02:00:00:00:00:fe", **changes
        ),),
    )  # fmt: skip
    return msgspec.structs.replace(clean(), head=Head(head, wires))


def test_an_address_that_the_head_has_too_is_named_with_both_holders() -> None:
    found = only(beside_a_head("10.1.0.2", "eno1"))
    assert (found.check, found.where, found.severity) == ("addresses", "c2:eth0", Severity.FAIL)
    assert (found.nodes, found.network) == (("c2",), "eth")
    assert found.what.startswith("has the address 10.1.0.2 of head:eno1, the machine that starts")
    assert [line.partition(" ")[0] for line in found.evidence] == ["head:eno1", "c2:eth0"]


def test_an_address_of_the_head_on_another_wire_is_a_doubt() -> None:
    found = only(beside_a_head("10.1.0.2"))
    assert (found.where, found.severity) == ("c2:eth0", Severity.WARN)
    assert "different wires" in found.what


def test_a_head_with_an_address_of_its_own_accuses_nobody() -> None:
    assert findings(beside_a_head("10.1.0.9", "eno1")) == []
    docker = beside_a_head("172.17.1.1", name="docker0", driver="bridge", carrier=False)
    assert findings(docker) == []
