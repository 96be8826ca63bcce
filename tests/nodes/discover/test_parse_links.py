"""Which interface is on which, in both forms of what ``ip`` prints."""

from fabricgauge.model.ip_link import IpLink
from fabricgauge.nodes.discover.parse_probe import parse_links_json, parse_links_text
from fabricgauge.nodes.discover.sections import AnswerSection

JSON = """[{"ifname": "eth0", "ifindex": 2, "link": null, "master": "bond0"},
{"ifname": "bond0.7", "ifindex": 3, "link": "bond0", "linkinfo": {"info_kind": "vlan"}},
{"ifname": "veth1", "ifindex": 4, "link_index": 2, "link_netnsid": 0, "master": "br0"}]"""

TEXT = """2: eth0: <UP> mtu 1500 qdisc mq master bond0 state UP
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
3: bond0.7@bond0: <UP> mtu 1500 qdisc noqueue state UP
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
4: veth1@if2: <UP> mtu 1500 qdisc noqueue master br0 state UP
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff
5: tunl0@NONE: <NOARP> mtu 1480 qdisc noop state DOWN"""


def section(text: str) -> AnswerSection:
    return AnswerSection("n1", "ip", 1, tuple(text.split("\n")))


def stacked(links: tuple[IpLink, ...]) -> dict[str, tuple[str, str]]:
    return {one.name: (one.master, one.parent) for one in links}


#: As iproute2 6.1 prints it of a tunnel that is bound to an interface, and of one with an address.
VXLAN = """[{"ifname": "vx0", "linkinfo": {"info_kind": "vxlan", "info_data": {"id": 42,
"remote": "10.9.0.2", "link": "e0", "port": 4789, "learning": true}}},
{"ifname": "vx1", "linkinfo": {"info_kind": "vxlan", "info_data": {"id": 43, "remote": "10.9.0.2",
"local": "10.9.0.1", "port": 4789}}},
{"ifname": "vx2", "linkinfo": {"info_kind": "vxlan", "info_data": {"link": 7, "local": ["x"]}}}]"""


def test_a_tunnels_interface_and_address_are_read() -> None:
    ends = [one.tunnel_ends for one in parse_links_json(section(VXLAN))]
    assert ends == [("e0", ""), ("", "10.9.0.1"), ("", "")]


def test_master_and_parent_are_read_from_json_and_from_text() -> None:
    expected = {"eth0": ("bond0", ""), "bond0.7": ("", "bond0"), "veth1": ("br0", "")}
    assert stacked(parse_links_json(section(JSON))) == expected
    assert stacked(parse_links_text(section(TEXT))) == expected | {"tunl0": ("", "")}
