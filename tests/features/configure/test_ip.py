"""Steps of the backend ip from what ``ip -j`` prints, or from discovery."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.features.configure.sample import drafted, interface, inventory, network, nodes, wish

from fabricgauge.features.configure import links
from fabricgauge.features.configure.interface import plan, questions
from fabricgauge.features.configure.job import Reply, Step
from fabricgauge.model.finding import Command

Json = dict[str, object]

ONE = network(nodes=("c1",), interfaces={"c1": "eth1"}, suffix="", mtu_bytes=9000)


def held(ip: str, length: int, **more: object) -> dict[str, object]:
    return {"family": "inet", "local": ip, "prefixlen": length, "scope": "global", **more}


def steps(
    addresses: list[dict[str, object]], *, mtu: int = 9000, flags: tuple[str, ...] = ("UP",),
    routes: list[dict[str, object]] | None = None, other: list[dict[str, object]] | None = None,
    **more: object,
) -> tuple[Step, ...]:  # fmt: skip
    found = [
        {"ifname": "eth0", "flags": ["UP"], "mtu": 1500, "addr_info": other or []},
        {"ifname": "eth1", "flags": flags, "mtu": mtu, "addr_info": addresses},
    ]
    one = msgspec.structs.replace(ONE, **more)
    known = (inventory("c1", interface("eth0"), interface("eth1")),)
    job = drafted(wish("ip", one), known)
    ask_links, ask_routes = links.questions("c1")
    usual = [{"dst": "10.10.40.0/24", "dev": "eth1", "protocol": "kernel"}]
    replies = {
        ask_links: Reply(0, json.dumps(found)),
        ask_routes: Reply(0, json.dumps(usual if routes is None else routes)),
    }
    made = plan(msgspec.structs.replace(job, replies=replies))
    return tuple(step for step in made.steps if not step.fulfilled and step.commands)


def words(commands: tuple[Command, ...]) -> list[str]:
    return [" ".join(command.argv) for command in commands]


RIGHT = held("10.10.40.21", 24, broadcast="10.10.40.255", label="eth1")


def test_what_is_right_needs_no_step() -> None:
    assert steps([RIGHT]) == ()


def test_a_wrong_mask_is_replaced() -> None:
    (step,) = steps([held("10.10.40.21", 8, broadcast="10.255.255.255", label="eth1")])
    assert words(step.commands) == [
        "ip addr del 10.10.40.21/8 dev eth1", "ip addr replace 10.10.40.21/24 brd + dev eth1",
    ]  # fmt: skip
    assert words(step.undo) == [
        "ip addr flush dev eth1 to 10.10.40.21/32",
        "ip addr replace 10.10.40.21/8 brd 10.255.255.255 dev eth1",
    ]


def test_a_secondary_right_address_is_kept_and_the_order_is_restored() -> None:
    (step,) = steps([held("10.10.40.99", 24), {**RIGHT, "label": "eth1:a"}])
    assert words(step.commands)[0] == "ip addr del 10.10.40.99/24 dev eth1"
    assert words(step.undo)[1:] == [
        "ip addr replace 10.10.40.99/24 dev eth1",
        "ip addr replace 10.10.40.21/24 brd 10.10.40.255 dev eth1 label eth1:a",
    ]


def test_the_undoing_leaves_a_right_address_that_was_there_alone() -> None:
    """What somebody added in its subnet would go with it."""
    (step,) = steps([RIGHT, held("10.10.40.99", 24)])
    assert words(step.undo) == ["ip addr replace 10.10.40.99/24 dev eth1"]


def test_an_address_of_another_subnet_stays_unless_the_interface_is_exclusive() -> None:
    foreign = held("10.99.0.5", 24)
    assert steps([RIGHT, foreign]) == ()
    (step,) = steps([RIGHT, foreign], exclusive=True)
    assert words(step.commands)[0] == "ip addr del 10.99.0.5/24 dev eth1"


def test_routes_through_a_wrong_address_are_kept() -> None:
    usual: Json = {"dst": "10.10.40.0/24", "dev": "eth1", "protocol": "kernel"}
    by_gateway: Json = {"dst": "default", "gateway": "10.10.40.1", "dev": "eth1", "metric": 5}
    by_source: Json = {
        "dst": "10.50.0.0/16",
        "dev": "eth1",
        "prefsrc": "10.10.40.99",
        "scope": "link",
    }
    (step,) = steps([held("10.10.40.99", 24)], routes=[usual, by_gateway, by_source])
    assert words(step.commands)[-1] == "ip route replace default via 10.10.40.1 dev eth1 metric 5"
    assert words(step.undo)[-2:] == [
        "ip route replace default via 10.10.40.1 dev eth1 metric 5",
        "ip route replace 10.50.0.0/16 dev eth1 scope link src 10.10.40.99",
    ]


def test_a_wanted_address_on_another_interface_is_taken_from_it_first() -> None:
    away, here = steps([], other=[held("10.10.40.21", 24)])
    assert words(away.commands) == ["ip addr del 10.10.40.21/24 dev eth0"]
    assert words(here.commands) == ["ip addr replace 10.10.40.21/24 brd + dev eth1"]


def test_addresses_that_two_planned_interfaces_have_swapped_are_swapped_back() -> None:
    two = (network("a", nodes=("c1",), interfaces={"c1": "eth0"}, suffix="", first="10.1.0.1",
                   subnet="10.1.0.0/24", mtu_bytes=1500),
           network("b", nodes=("c1",), interfaces={"c1": "eth1"}, suffix="", first="10.2.0.1",
                   subnet="10.2.0.0/24", mtu_bytes=1500))  # fmt: skip
    known = (inventory("c1", interface("eth0", "10.2.0.1/24"), interface("eth1", "10.1.0.1/24")),)
    made = plan(drafted(wish("ip", *two), known))
    changes = [word for step in made.steps if not step.fulfilled for word in words(step.commands)]
    assert changes == [
        "ip addr del 10.2.0.1/24 dev eth0", "ip addr del 10.1.0.1/24 dev eth1",
        "ip addr replace 10.1.0.1/24 brd + dev eth0", "ip addr replace 10.2.0.1/24 brd + dev eth1",
    ]  # fmt: skip


def test_a_link_that_is_off_and_small_frames_are_mended_before_addresses() -> None:
    mtu, up, _ = steps([], mtu=1500, flags=())
    assert words(mtu.commands) == ["ip link set dev eth1 mtu 9000"]
    assert words(mtu.undo) == ["ip link set dev eth1 mtu 1500"]
    assert words(up.commands) == ["ip link set dev eth1 up"]
    assert words(up.undo) == ["ip link set dev eth1 down"]


def test_a_route_that_somebody_took_away_is_put_back() -> None:
    (step,) = steps([RIGHT], routes=[])
    assert words(step.commands) == [
        "ip route replace 10.10.40.0/24 dev eth1 proto kernel scope link src 10.10.40.21"
    ]


def test_discovery_alone_shows_what_is_right() -> None:
    known = (
        inventory("c1", interface("enp97s0", "10.10.40.21/24", mtu=9000)),
        inventory("c2", interface("enp182s0", "10.10.40.22/24", mtu=9000, up=False)),
    )
    made = plan(drafted(wish("ip", network(suffix="")), known))
    todo = [step.title for step in made.steps if not step.fulfilled and step.commands]
    assert todo == ["Switch c2:enp182s0 on"]


@given(st.text(max_size=80) | st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["ifname", "flags", "mtu", "addr_info", "local"]), inner, max_size=3),
).map(json.dumps))  # fmt: skip
def test_no_reply_breaks_the_plan(reply: str) -> None:
    job = drafted(wish("ip"), nodes())
    answers = {question: Reply(0, reply) for question in questions(job)}
    made = plan(msgspec.structs.replace(job, replies=answers))
    assert made.steps
