"""IP over InfiniBand in the quick answer: mode, link and rate of the port behind it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Network, Node
from fabricgauge.nodes.discover.parse_probe import get_port_rate, parse_ipoib_port, parse_probe
from fabricgauge.nodes.discover.subnets import join_networks

MAC = "80:00:02:08:fe:80:00:00:00:00:00:00:00:11:75:01:01:09:00:01"
LINK = {"rate 1": "100 Gb/sec (4X EDR)", "dev_port": "0", "mode": "datagram"}
TEXT = "2: ib0: <BROADCAST,UP,LOWER_UP> mtu 2044 state UP\n    link/infiniband {} brd ff\n"


def answer(name: str, *sections: str, links: str = "", ip: str = "10.1.0.1") -> str:
    """What probe.sh prints (version 1), with the interface ``name``."""
    told = links or json.dumps(
        [
            {
                "ifindex": 2, "ifname": name, "flags": ["UP", "LOWER_UP"], "mtu": 2044,
                "operstate": "UP", "link_type": "infiniband", "address": MAC,
                "addr_info": [{"family": "inet", "local": ip, "prefixlen": 24}],
            }
        ]
    )  # fmt: skip
    quick = ("hostname\nn1", "kernel\n6.1", "boot_id\nb", "net_namespace\nnet:[1]", "cpus\n4")
    addresses = f"ip_text\n{told}" if links else f"ip_json\n{told}"
    every = ("fabricgauge-probe 1", *quick, addresses, *sections, "end")
    return "".join(f"== {one}\n" for one in every)


def sys(name: str, **values: str) -> str:
    lines = {"ifindex": "2", "address": MAC, "type": "32", "driver": "mlx5_core", **values}
    body = "\n".join(f"{key.replace('__', ' ')}: {value}" for key, value in lines.items())
    return f"sys {name}\n{body}"


def interface(raw: str, name: str = "ib0") -> Interface:
    found = parse_probe("n1", raw).interface(name)
    assert isinstance(found, Interface)
    return found


def test_mode_and_link_of_the_port_behind_are_read_without_ethtool() -> None:
    known = sys("ib0", speed="100000", mode="connected", dev_port="0", rate__1=LINK["rate 1"])
    found = interface(answer("ib0", known))
    assert found.ipoib == IpoibPort("connected", "4x EDR")
    assert found.speed_bit_s == 100e9


def test_the_ip_of_busybox_names_the_medium_as_well() -> None:
    found = interface(answer("ib0", sys("ib0", mode="datagram"), links=TEXT.format(MAC)))
    assert isinstance(found.ipoib, IpoibPort)
    assert found.ipoib.mode == "datagram"


def test_an_interface_of_ethernet_has_no_port_of_infiniband() -> None:
    text = TEXT.format(MAC).replace("link/infiniband", "link/ether")
    found = interface(answer("ib0", sys("ib0", mode="datagram"), links=text))
    assert isinstance(found.ipoib, Skipped)


def test_the_port_s_rate_stands_in_where_an_old_kernel_s_ipoib_gives_none() -> None:
    found = interface(answer("ib0", sys("ib0", speed="-1", dev_port="0", rate__1=LINK["rate 1"])))
    assert found.speed_bit_s == 100e9


def test_a_child_interface_has_its_parent_s_link() -> None:
    parent = sys("ib0", dev_port="0", rate__1="56 Gb/sec (4X FDR)").replace(": 2\n", ": 7\n")
    found = interface(answer("ib0.8001", sys("ib0.8001", mode="datagram"), parent), "ib0.8001")
    assert found.ipoib == IpoibPort("datagram", "4x FDR")


@pytest.mark.parametrize(
    ("values", "link"),
    [
        ({**LINK, "rate 1": "10 Gb/sec (4X)"}, "4x SDR"),
        ({**LINK, "driver": "hfi1"}, "OPA100"),
        (
            {"dev_port": "1", "rate 1": "40 Gb/sec (4X QDR)", "rate 2": "56 Gb/sec (4X FDR)"},
            "4x FDR",
        ),
        ({"rate 1": "200 Gb/sec (4X HDR)"}, "4x HDR"),
    ],
)
def test_the_link_is_that_of_the_port_that_it_is_on(values: dict[str, str], link: str) -> None:
    assert parse_ipoib_port("n1:ib0", values).link == link


@pytest.mark.parametrize(
    "values",
    [
        {}, {"rate 1": "fast"}, {**LINK, "dev_port": "1"}, {**LINK, "rate 1": "100 Gb/sec"},
        {"rate 1": "10 Gb/sec (4X)", "rate 2": "10 Gb/sec (4X)"},
    ],
)  # fmt: skip
def test_a_link_that_nothing_tells_is_said_to_be_unknown(values: dict[str, str]) -> None:
    link = parse_ipoib_port("n1:ib0", values).link
    assert isinstance(link, Skipped)
    assert "n1:ib0" in link.reason


@given(st.dictionaries(st.sampled_from(["mode", "dev_port", "rate 1", "rate 9"]), st.text()))
def test_no_value_breaks_it(values: dict[str, str]) -> None:
    found = parse_ipoib_port("n1:ib0", values)
    assert isinstance(found.mode, Skipped) or found.mode in ("datagram", "connected")
    rate = get_port_rate(values)
    assert rate is None or rate >= 0


def node(name: str, ip: str, values: dict[str, str]) -> Node:
    known = sys("ib0", **{key.replace(" ", "__"): value for key, value in values.items()})
    return parse_probe(name, answer("ib0", known, ip=ip))


def joined(first: dict[str, str], second: dict[str, str]) -> Network:
    found = join_networks((node("a", "10.1.0.1", first), node("b", "10.1.0.2", second)), ())
    return found[0]


def test_a_network_of_ipoib_is_named_by_medium_mode_and_its_fastest_link() -> None:
    slow = {**LINK, "rate 1": "40 Gb/sec (4X QDR)"}
    found = joined(slow, LINK)
    assert (found.technology, found.link, found.mode) == ("ipoib", "4x EDR", "datagram")
    assert found.rate_bit_s == 100e9


def test_modes_that_differ_are_no_mode_of_the_network() -> None:
    assert joined(LINK, {**LINK, "mode": "connected"}).mode == ""
    assert joined(LINK, {**LINK, "mode": "?"}).mode == ""
