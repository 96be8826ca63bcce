import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Address, DeclaredNetwork, Interface, Network, Node, Shaper
from fabricgauge.nodes.discover.subnets import FreeEndpoints, Subnet, join_networks


def port(
    name: str, *cidrs: str, speed_bit_s: float | None = 1e9, driver: str = "ixgbe",
    mtu: int = 1500, burst: int = 0,
) -> Interface:  # fmt: skip
    addresses = []
    for cidr in cidrs:
        ip, _, length = cidr.partition("/")
        addresses.append(Address(ip, int(length)))
    return Interface(
        name, driver, "up", True, Skipped("no rate") if speed_bit_s is None else speed_bit_s,
        mtu, "02:00:00:00:00:01", tuple(addresses),
        Shaper(1e9, burst) if burst else Skipped("no token bucket"), Skipped("no NUMA"),
    )  # fmt: skip


def node(name: str, *ports: Interface, timestamps: str = "1") -> Node:
    facts = {"net.ipv4.tcp_timestamps": timestamps}
    return Node(name, name, "boot", f"net:[{name}]", 2, "6.1", ports, facts)


def names(found: tuple[Network, ...]) -> list[str]:
    return [network.name for network in found]


def test_interfaces_are_matched_by_subnet_not_by_name() -> None:
    found = join_networks(
        (node("a", port("eth0", "10.0.0.1/24")), node("b", port("eth1", "10.0.0.2/24"))), ()
    )
    assert names(found) == ["10.0.0.0/24"]
    assert [(m.node, m.interface) for m in found[0].members] == [("a", "eth0"), ("b", "eth1")]


def test_a_subnet_of_one_node_is_no_network() -> None:
    assert join_networks((node("a", port("e", "10.0.0.1/24")), node("b", port("e"))), ()) == ()


@pytest.mark.parametrize("cidr", ["127.0.0.{}/8", "169.254.0.{}/16", "fe80::{}/64", "224.0.0.{}/4"])
def test_loopback_and_link_local_join_nothing(cidr: str) -> None:
    nodes = tuple(node(name, port("e", cidr.format(n))) for n, name in ((1, "a"), (2, "b")))
    assert join_networks(nodes, ()) == ()


def test_an_address_kept_on_the_loopback_interface_joins_nothing() -> None:
    nodes = tuple(
        node(name, port("lo", f"10.0.0.{n}/24", driver="loopback"))
        for n, name in enumerate("ab", 1)
    )
    assert join_networks(nodes, ()) == ()


def test_a_private_bridge_with_one_address_everywhere_joins_nothing() -> None:
    nodes = tuple(node(name, port("docker0", "172.17.0.1/16", driver="bridge")) for name in "abc")
    assert join_networks(nodes, ()) == ()


def test_two_nodes_with_one_address_are_a_network_only_where_it_was_declared() -> None:
    declared = (DeclaredNetwork("data", "10.0.0.0/24", 40e9, "site.toml, line 3"),)
    nodes = tuple(node(name, port("e", "10.0.0.1/24")) for name in "ab")
    assert names(join_networks(nodes, declared)) == ["data"]
    assert join_networks(nodes, ()) == ()


def bridge(name: str, cidr: str, carrier: bool = True) -> Interface:
    plain = port(name, cidr, driver="bridge", speed_bit_s=None)
    return msgspec.structs.replace(plain, carrier=carrier)


def slave(master: str, driver: str) -> Interface:
    return msgspec.structs.replace(port("s0", driver=driver), master=master)


#: One node has another ``bip`` than the others in its docker's settings.
BIPS = (("a", "172.17.42.1/16"), ("b", "172.17.0.1/16"), ("c", "172.17.0.1/16"))


def test_bridges_without_a_carrier_join_nothing() -> None:
    assert join_networks(tuple(node(n, bridge("docker0", c, False)) for n, c in BIPS), ()) == ()
    apart = (("a", "172.17.0.1/16"), ("b", "172.17.0.2/16"))
    assert join_networks(tuple(node(n, bridge("docker0", c, False)) for n, c in apart), ()) == ()


@pytest.mark.parametrize("driver", ["veth", "tun"])
def test_bridges_of_containers_and_guests_alone_join_nothing(driver: str) -> None:
    nodes = tuple(
        node(f"n{n}", bridge("cni0", f"10.88.0.{n}/16"), slave("cni0", driver)) for n in (1, 2)
    )
    assert join_networks(nodes, ()) == ()
    declared = (DeclaredNetwork("d", "10.88.0.0/16", 1e9, "x"),)
    assert names(join_networks(nodes, declared)) == ["d"]


def test_one_address_on_bridges_whose_ports_nobody_says_joins_nothing() -> None:
    assert join_networks(tuple(node(n, bridge("docker0", c)) for n, c in BIPS), ()) == ()


def test_bridges_with_a_port_to_the_outside_are_a_network_even_with_one_address_twice() -> None:
    cidrs = ("10.1.0.1/24", "10.1.0.1/24", "10.1.0.2/24")
    nodes = tuple(
        node(f"n{n}", bridge("br0", cidr, carrier=n > 0), slave("br0", "ixgbe"))
        for n, cidr in enumerate(cidrs)
    )
    (found,) = join_networks(nodes, ())
    assert len(found.members) == 3


def test_bridges_with_a_carrier_whose_ports_nobody_says_are_a_network() -> None:
    nodes = tuple(node(f"n{n}", bridge("br0", f"10.1.0.{n}/24")) for n in (1, 2))
    assert len(join_networks(nodes, ())) == 1


def vxlan(number: int, *below: str, speed_bit_s: float | None = 1e10) -> Node:
    tunnel = port("vx0", f"10.88.0.{number}/24", speed_bit_s=None, driver="vxlan", mtu=1450)
    return node(
        f"n{number}",
        port("eth0", *below, speed_bit_s=speed_bit_s, burst=32768),
        msgspec.structs.replace(tunnel, parent="eth0"),
    )


@pytest.mark.parametrize("speed_bit_s", [1e10, None])
def test_a_tunnel_has_the_rate_of_the_port_below_it(speed_bit_s: float | None) -> None:
    nodes = [vxlan(n, f"10.77.0.{n}/24", speed_bit_s=speed_bit_s) for n in (1, 2)]
    stated = DeclaredNetwork("net1", "10.77.0.0/24", 1e10, "site.toml")
    declared = () if speed_bit_s else (stated,)
    (tunnel,) = [
        one for one in join_networks(tuple(nodes), declared) if one.subnet == "10.88.0.0/24"
    ]
    assert tunnel.rate_bit_s == 1e10
    assert "n1:eth0, below vx0" in tunnel.rate_origin
    assert (tunnel.tunnel_bytes, tunnel.burst_bytes) == (50, 32768)


def test_a_tunnel_over_ipv6_adds_the_larger_header() -> None:
    nodes = tuple(vxlan(n, f"fd00::{n}/64") for n in (1, 2))
    (_, tunnel) = join_networks(nodes, ())
    assert {tunnel.tunnel_bytes, _.tunnel_bytes} == {0, 70}


def test_a_tunnel_over_a_port_of_unknown_rate_has_none() -> None:
    (_, tunnel) = join_networks(
        tuple(vxlan(n, f"10.77.0.{n}/24", speed_bit_s=None) for n in (1, 2)), ()
    )
    assert isinstance(tunnel.rate_bit_s, Skipped)


def test_a_bridge_has_the_rate_of_its_only_port_to_the_outside() -> None:
    def host(number: int, *more: Interface) -> Node:
        ports = (slave("br0", "ixgbe"), *more)
        return node(f"n{number}", bridge("br0", f"10.1.0.{number}/24"), *ports)

    guest = msgspec.structs.replace(port("tap0", driver="tun", speed_bit_s=None), master="br0")
    (network,) = join_networks((host(1, guest), host(2)), ())
    assert network.rate_bit_s == 1e9
    second = msgspec.structs.replace(port("s1"), master="br0")
    (network,) = join_networks((host(1, second), host(2)), ())
    assert isinstance(network.rate_bit_s, Skipped)


@pytest.mark.parametrize(("more", "burst"), [(0, 32768), (1, 0)])
def test_a_bridge_sends_through_the_token_bucket_of_its_only_port(more: int, burst: int) -> None:
    """With a second port, as of a container, it is unknown which one the node sends through."""

    def host(number: int) -> Node:
        ports = [
            msgspec.structs.replace(
                port(f"v{at}", driver="veth", speed_bit_s=None, burst=32768), master="br0"
            )
            for at in range(1 + more)
        ]
        return node(f"n{number}", bridge("br0", f"10.1.0.{number}/24"), *ports)

    declared = (DeclaredNetwork("data", "10.1.0.0/24", 1e9, "declared"),)
    (network,) = join_networks((host(1), host(2)), declared)
    assert network.burst_bytes == burst


def test_the_fastest_port_gives_the_rate_and_its_driver_is_quoted() -> None:
    slow, fast = (
        port("e0", "10.0.0.1/24", speed_bit_s=1e9),
        port("e0", "10.0.0.2/24", speed_bit_s=10e9),
    )
    for nodes in ((node("a", fast), node("b", slow)), (node("b", slow), node("a", fast))):
        found = join_networks(nodes, ())[0]
        assert found.rate_bit_s == 10e9
        assert found.rate_origin == (
            "a:e0's driver reports 10 Gb/s, the fastest port of the network"
        )


def test_one_unknown_rate_leaves_the_networks_rate_unknown() -> None:
    found = join_networks(
        (
            node("a", port("e", "10.0.0.1/24")),
            node("b", port("e", "10.0.0.2/24", speed_bit_s=None)),
        ),
        (),
    )
    assert isinstance(found[0].rate_bit_s, Skipped)


def test_a_declaration_names_the_network_and_its_rate_counts() -> None:
    declared = (DeclaredNetwork("data", "10.0.0.0/16", 40e9, "site.toml, line 3"),)
    nodes = (node("a", port("e", "10.0.0.1/24")), node("b", port("e", "10.0.0.2/24")))
    found = join_networks(nodes, declared)
    assert names(found) == ["data"]
    assert (found[0].subnet, found[0].rate_bit_s) == ("10.0.0.0/16", 40e9)
    assert found[0].rate_origin == "site.toml, line 3"


def test_the_most_specific_declaration_gets_the_address() -> None:
    declared = (
        DeclaredNetwork("wide", "10.0.0.0/8", 1e9, "x"),
        DeclaredNetwork("narrow", "10.1.0.0/16", 1e9, "x"),
    )
    nodes = tuple(
        node(name, port("e0", f"10.1.0.{n}/16"), port("e1", f"10.2.0.{n}/16"))
        for n, name in enumerate("ab", 1)
    )
    found = {network.name: network for network in join_networks(nodes, declared)}
    assert {m.ip for m in found["narrow"].members} == {"10.1.0.1", "10.1.0.2"}
    assert {m.ip for m in found["wide"].members} == {"10.2.0.1", "10.2.0.2"}


def test_a_node_with_a_wrong_mask_stays_in_its_neighbours_network() -> None:
    nodes = (
        node("a", port("e", "10.0.0.1/24")),
        node("b", port("e", "10.0.0.2/24")),
        node("c", port("e", "10.0.0.3/30")),
        node("d", port("e", "10.0.0.4/8")),
    )
    found = join_networks(nodes, ())
    assert names(found) == ["10.0.0.0/24"]
    assert {m.node for m in found[0].members} == {"a", "b", "c", "d"}


def test_a_services_address_beside_the_nodes_own_is_no_end() -> None:
    for own, service in (("10.0.0.1/24", "10.0.0.100/32"), ("fd00::1/64", "fd00::100/128")):
        other = own.replace("1/", "2/")
        nodes = (node("a", port("e", service, own)), node("b", port("e", other)))
        for declared in ((), (DeclaredNetwork("d", other, 1e9, "x"),)):
            (found,) = join_networks(nodes, declared)
            assert [m.ip for m in found.members] == [own.partition("/")[0], other.partition("/")[0]]


def test_routed_addresses_of_one_alone_join_nodes_where_there_are_no_others() -> None:
    nodes = tuple(node(name, port("e", f"10.0.0.{n}/31")) for n, name in enumerate("ab"))
    assert names(join_networks(nodes, ())) == ["10.0.0.0/31"]


def test_two_nodes_with_different_masks_still_share_a_network() -> None:
    nodes = (node("a", port("e", "10.0.0.1/24")), node("b", port("e", "10.0.0.2/16")))
    assert names(join_networks(nodes, ())) == ["10.0.0.0/24"] or names(
        join_networks(nodes, ())
    ) == ["10.0.0.0/16"]


def test_ipv6_beside_ipv4_is_not_a_second_network_unless_declared() -> None:
    nodes = tuple(
        node(name, port("e", f"10.0.0.{n}/24", f"fd00::{n}/64")) for n, name in enumerate("ab", 1)
    )
    assert names(join_networks(nodes, ())) == ["10.0.0.0/24"]
    declared = (DeclaredNetwork("six", "fd00::/64", 1e9, "x"),)
    assert names(join_networks(nodes, declared)) == ["six", "10.0.0.0/24"]


def test_ipv6_alone_is_a_network() -> None:
    nodes = tuple(node(name, port("e", f"fd00::{n}/64")) for n, name in enumerate("ab", 1))
    assert names(join_networks(nodes, ())) == ["fd00::/64"]


def test_timestamps_off_at_one_member_and_the_largest_burst_are_kept() -> None:
    found = join_networks(
        (
            node("a", port("e", "10.0.0.1/24", burst=16384), timestamps="0"),
            node("b", port("e", "10.0.0.2/24", burst=32768, mtu=9000)),
        ),
        (),
    )[0]
    assert found.timestamps is False
    assert found.burst_bytes == 32768
    assert found.mtu_bytes == 1500


def test_a_declared_subnet_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"data \(site\.toml\)"):
        join_networks((), (DeclaredNetwork("data", "10.0.0.300/24", 1e9, "site.toml"),))


ips = st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(1, 6), st.integers(6, 32))


@settings(deadline=None)
@given(st.lists(st.lists(ips, max_size=4), max_size=5), st.lists(ips, max_size=2))
def test_each_address_is_in_one_network_at_most_and_each_network_joins_two_nodes(
    ports: list[list[tuple[int, int, int, int]]], declared: list[tuple[int, int, int, int]]
) -> None:
    nodes = tuple(
        node(
            f"n{number}", *(port(f"e{k}", "{}.{}.0.{}/{}".format(*ip)) for k, ip in enumerate(own))
        )
        for number, own in enumerate(ports)
    )
    wanted = tuple(
        DeclaredNetwork(f"d{k}", "{}.{}.0.{}/{}".format(*ip), 1e9, "x")
        for k, ip in enumerate(declared)
    )
    found = join_networks(nodes, wanted)
    members = [(m.node, m.interface, m.ip) for network in found for m in network.members]
    assert len(members) == len(set(members))
    assert all(len({m.node for m in network.members}) >= 2 for network in found)
    assert len({network.name for network in found}) == len(found)
    assert join_networks(nodes, wanted) == found


def test_a_port_without_a_link_does_not_hide_the_rate_of_the_others() -> None:
    down = msgspec.structs.replace(port("e", "10.0.0.3/24", speed_bit_s=None), carrier=False)
    nodes = (
        node("a", port("e", "10.0.0.1/24")), node("b", port("e", "10.0.0.2/24")), node("c", down)
    )  # fmt: skip
    (found,) = join_networks(nodes, ())
    assert found.rate_bit_s == 1e9
    assert len(found.members) == 3


def test_subnets_of_one_link_each_are_no_work_that_grows_with_their_square() -> None:
    """Counted in what is looked at: 2,000 links that are routed have 2,000 subnets."""
    looked = 0

    class Counted(FreeEndpoints):
        def _find_numbers(self, subnet: Subnet) -> list[int]:
            nonlocal looked
            found = super()._find_numbers(subnet)
            looked += len(found)
            return found

    nodes = tuple(node(f"n{n}", port("e", f"10.{n // 128}.{n % 128}.1/31")) for n in range(2000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fabricgauge.nodes.discover.subnets.FreeEndpoints", Counted)
        assert join_networks(nodes, ()) == ()
    assert looked <= 2 * len(nodes)


def rails(*nodes: Node, declared: tuple[DeclaredNetwork, ...] = ()) -> dict[str, set[str]]:
    found = join_networks(nodes, declared, by_rail=True)
    return {one.name: {f"{m.node}:{m.interface}" for m in one.members} for one in found}


def two(name: str, number: int, *named: str, speed_bit_s: float = 1e11) -> Node:
    ports = (
        port(one, f"10.0.0.{10 * at + number}/24", speed_bit_s=speed_bit_s)
        for at, one in enumerate(named)
    )
    return node(name, *ports)


def test_interfaces_of_one_subnet_are_rails_by_their_names() -> None:
    nodes = two("a", 1, "ib0", "ib1"), two("b", 2, "ib1", "ib0"), two("c", 3, "ib1")
    assert rails(*nodes) == {
        "10.0.0.0/24-rail1": {"a:ib0", "b:ib0"},
        "10.0.0.0/24-rail2": {"a:ib1", "b:ib1", "c:ib1"},
    }
    # Nobody else tells rails apart.
    assert names(join_networks(nodes, ())) == ["10.0.0.0/24"]


def test_where_names_differ_rails_go_by_place_if_all_are_alike() -> None:
    here, there = two("a", 1, "ens1", "ens2"), two("b", 2, "enp3", "enp4")
    assert list(rails(here, there).values()) == [{"a:ens1", "b:enp3"}, {"a:ens2", "b:enp4"}]
    slower = two("b", 2, "enp3", "enp4", speed_bit_s=1e9)
    assert list(rails(here, slower)) == ["10.0.0.0/24"]
    assert list(rails(here, two("b", 2, "enp3"))) == ["10.0.0.0/24"]


def test_each_rail_has_the_rate_of_its_own_ports() -> None:
    nodes = (
        node(n, port("e0", f"10.0.0.{at}/24", speed_bit_s=1e11), port("e1", f"10.0.0.1{at}/24"))
        for at, n in enumerate("ab", 1)
    )
    assert [one.rate_bit_s for one in join_networks(tuple(nodes), (), by_rail=True)] == [1e11, 1e9]


@given(st.integers(2, 6), st.booleans())
def test_one_interface_in_each_subnet_is_no_rail(count: int, aliases: bool) -> None:
    more = ("10.0.0.10{}/24",) if aliases else ()
    nodes = tuple(
        node(f"c{at}", port("e0", *(one.format(at) for one in ("10.0.0.{}/24", *more))),
             port("e1", f"10.1.0.{at}/24"))
        for at in range(1, count + 1)
    )  # fmt: skip
    assert join_networks(nodes, (), by_rail=True) == join_networks(nodes, ())
