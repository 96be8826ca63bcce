"""No plan breaks a bond, a bridge or a VLAN, nor asks an adapter for more than it can."""

import json

import msgspec
import pytest
from tests.features.configure.sample import drafted, interface, inventory, network, wish

from fabricgauge.features.configure import lifeline, links
from fabricgauge.features.configure.interface import plan
from fabricgauge.features.configure.job import Configuration, Draft, Reply
from fabricgauge.model.errors import UsageError

Json = dict[str, object]


def link(name: str, kind: str = "", *, ips: tuple[str, ...] = (), **more: object) -> Json:
    """As ``ip -j -d addr`` of iproute2 6.1 prints it."""
    held = [{"family": "inet6" if ":" in one else "inet", "local": one.partition("/")[0],
             "prefixlen": int(one.partition("/")[2]), "scope": "global"}
            for one in ips]  # fmt: skip
    about = {"linkinfo": {"info_kind": kind}} if kind else {}
    return {"ifname": name, "flags": ["UP"], "mtu": 1500, "addr_info": held, **about, **more}


def made(backend: str, chosen: str, *there: Json, **more: object) -> Configuration:
    usual = network(nodes=("c1",), interfaces={"c1": chosen}, suffix="", mtu_bytes=1500)
    one = msgspec.structs.replace(usual, **more)
    known = inventory("c1", *(interface(str(link["ifname"])) for link in there))
    job: Draft = drafted(wish(backend, one), (known,))
    ask_links, ask_routes = links.questions("c1")
    replies = {ask_links: Reply(0, json.dumps(there)), ask_routes: Reply(0, "[]")}
    return plan(msgspec.structs.replace(job, replies=replies))


BOND = (link("bond0", "bond"), link("eth1", master="bond0"))
VLAN = (link("eth1"), link("eth1.40", "vlan", link="eth1"))


@pytest.mark.parametrize("backend", ["xcat", "ip"])
def test_a_member_of_a_bond_gets_no_address(backend: str) -> None:
    with pytest.raises(UsageError, match="c1:eth1 belongs to bond0, which has the addresses"):
        made(backend, "eth1", *BOND)


def test_xcat_defines_no_bond_or_vlan_as_an_adapter() -> None:
    with pytest.raises(UsageError, match="c1:bond0 is a bond, and for xcat only adapters"):
        made("xcat", "bond0", *BOND)
    with pytest.raises(UsageError, match=r"c1:eth1.40 is a VLAN, .* or use the backend ip"):
        made("xcat", "eth1.40", *VLAN)


def test_a_tunnel_that_lies_upon_nothing_hides_no_bond() -> None:
    """iproute2 prints tunl0@NONE, sit0@NONE and gre0@NONE so."""
    with pytest.raises(UsageError, match="c1:eth1 belongs to bond0, which has the addresses"):
        made("ip", "eth1", *BOND, link("tunl0", "ipip", link=None, master=None))


@pytest.mark.parametrize("backend", ["xcat", "ip"])
@pytest.mark.parametrize(("asked", "reply", "why"), [
    (0, Reply(255, 'Option "-j" is unknown'), "ip -j -d addr show on c1: exit status 255"),
    (0, Reply(0, ""), "ip -j -d addr show on c1: not what ip -j prints"),
    (0, Reply(0, '[{"ifname":7}]'), "ip -j -d addr show on c1: not what ip -j prints"),
    (1, Reply(255, ""), "ip -j route show on c1: exit status 255"),
    (1, Reply(0, ""), ""),
])  # fmt: skip
def test_nothing_is_changed_unasked_where_the_links_are_not_known(
    backend: str, asked: int, reply: Reply, why: str
) -> None:
    job = drafted(wish(backend, network(nodes=("c1",), interfaces={"c1": "eth1"})),
                  (inventory("c1", interface("eth1")),))  # fmt: skip
    replies = {links.questions("c1")[0]: Reply(0, json.dumps([link("eth1")])),
               links.questions("c1")[1]: Reply(0, "[]")}  # fmt: skip
    replies[links.questions("c1")[asked]] = reply
    step = next(one for one in plan(msgspec.structs.replace(job, replies=replies)).steps
                if "c1:eth1" in one.title or one.title.startswith("Give c1"))  # fmt: skip
    assert step.consent == ("management" if why else "")
    assert (f"not known ({why}" in step.reason) == bool(why)


@pytest.mark.parametrize(("chosen", "there"), [("bond0", BOND), ("eth1.40", VLAN)])
def test_ip_gives_bonds_and_vlans_addresses(chosen: str, there: tuple[Json, ...]) -> None:
    steps = [one for one in made("ip", chosen, *there).steps if not one.fulfilled]
    assert [one.title for one in steps] == [f"Give c1:{chosen} the address 10.10.40.21/24 in net40"]


def test_a_vlan_that_xcat_may_interrupt_is_noted() -> None:
    assert any("c1:eth1 carries eth1.40" in note for note in made("xcat", "eth1", *VLAN).notes)
    assert not any("carries" in one for one in made("ip", "eth1", *VLAN).notes)


def test_the_other_end_of_a_veth_is_no_vlan() -> None:
    pair = (link("eth1", "veth", link="eth2"), link("eth2", "veth", link="eth1"))
    assert not any("carries" in note for note in made("xcat", "eth1", *pair).notes)


def test_addresses_that_xcat_does_not_define_are_noted() -> None:
    held = link("eth1", ips=("10.5.0.3/16", "2001:db8::3/64", "10.10.40.21/24"))
    (note,) = [one for one in made("xcat", "eth1", held).notes if "10.5.0.3/16" in one
               and "may be gone" in one]  # fmt: skip
    assert "10.5.0.3/16, 2001:db8::3/64 as well" in note
    assert not [one for one in made("ip", "eth1", held).notes if "may be gone" in one]


def test_an_mtu_that_the_adapter_cannot_take_is_refused() -> None:
    small = link("eth1", min_mtu=68, max_mtu=4078)
    with pytest.raises(UsageError, match="c1:eth1 takes an MTU of 4078 at most, and net40 wants"):
        made("ip", "eth1", small, mtu_bytes=9000)
    assert made("ip", "eth1", small, mtu_bytes=4078).steps
    assert made("ip", "eth1", link("eth1", max_mtu=0), mtu_bytes=9000).steps
    with pytest.raises(UsageError, match="ip link set dev eth1 type ipoib mode connected"):
        made("ip", "eth1", small, mtu_bytes=65520, kind="infiniband")
    # datagrams now, connections later
    assert made("xcat", "eth1", small, mtu_bytes=65520, kind="infiniband").steps


@pytest.mark.parametrize(("name", "made_first"), [
    ("eth1.40", True), ("bond0", True), ("br-7", True), ("eth7", False), ("ib0", False),
])  # fmt: skip
def test_an_interface_that_must_be_made_first_is_called_so(name: str, made_first: bool) -> None:
    with pytest.raises(UsageError, match=f"c1 has no interface {name}; it has eth1") as raised:
        made("ip", name, link("eth1"))
    assert ("configure makes no bond, bridge or VLAN" in str(raised.value)) == made_first


def test_ipv6_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="fd00::/64 is IPv6, which is not planned"):
        made("ip", "eth1", link("eth1"), subnet="fd00::/64")


@pytest.mark.parametrize("bad", [{"local": "10.x"}, {"prefixlen": 99}])
def test_an_address_that_is_none_breaks_nothing(bad: Json) -> None:
    held = {"family": "inet", "local": "10.10.40.9", "prefixlen": 24, "scope": "global", **bad}
    assert made("ip", "eth1", link("eth1", addr_info=[held])).steps


Reached = tuple[str, str, str]


def consents(backend: str, chosen: str, *there: Json, reached: Reached) -> set[str]:
    """Of the steps that change ``chosen``; ``reached``: ssh's address, a route's name, its hops."""
    came_in, dev, hops = reached
    job = drafted(wish(backend, network(nodes=("c1",), interfaces={"c1": chosen}, suffix="")),
                  (inventory("c1", interface(chosen)),))  # fmt: skip
    ask_links, ask_routes = links.questions("c1")
    route: Json = {"dst": "default", "dev": dev} if dev else {
        "dst": "default", "nexthops": [{"dev": one} for one in hops.split()]}  # fmt: skip
    replies = {
        ask_links: Reply(0, json.dumps(there)), ask_routes: Reply(0, json.dumps([route])),
        lifeline.question("c1"): Reply(0, f"10.1.0.9 4711 {came_in} 22\n" if came_in else "\n"),
    }  # fmt: skip
    steps = plan(msgspec.structs.replace(job, replies=replies)).steps
    titles = (f"c1:{chosen}", "Give c1 ")  # of ip and of xCAT
    return {step.consent for step in steps
            if any(title in step.title for title in titles) and not step.fulfilled}  # fmt: skip


def held(name: str, kind: str = "", **more: object) -> Json:
    return link(name, kind, ips=("10.1.0.5/24",), **more)


@pytest.mark.parametrize("backend", ["ip", "xcat"])
@pytest.mark.parametrize("reached", [("10.1.0.5", "", ""), ("", "eth1.40", "")])
def test_the_adapter_below_the_vlan_that_leads_in_needs_consent(
    backend: str, reached: Reached
) -> None:
    vlan = (link("eth1"), held("eth1.40", "vlan", link="eth1"), link("eth2"))
    assert consents(backend, "eth1", *vlan, reached=reached) == {"management"}
    assert consents(backend, "eth2", *vlan, reached=reached) == {""}
    deep = (link("eth1"), link("eth1.40", "vlan", link="eth1", master="br0"), held("br0", "bridge"))
    assert consents(backend, "eth1", *deep, reached=("10.1.0.5", "", "")) == {"management"}


def test_what_only_begins_or_ends_beside_the_way_in_needs_no_consent() -> None:
    pair = (link("eth1", "veth", link="eth0"), held("eth0", "veth", link="eth1"))
    assert consents("ip", "eth1", *pair, reached=("10.1.0.5", "", "")) == {""}
    above = (held("eth1"), link("eth1.40", "vlan", link="eth1"))
    assert consents("ip", "eth1.40", *above, reached=("10.1.0.5", "", "")) == {""}


def test_every_way_of_a_default_route_needs_consent() -> None:
    there = (link("eth1"), link("eth2"), link("eth3"))
    for name, asked in (("eth1", "management"), ("eth2", "management"), ("eth3", "")):
        assert consents("ip", name, *there, reached=("", "", "eth1 eth2")) == {asked}
