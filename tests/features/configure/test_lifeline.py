"""No plan cuts a node off, or takes what somebody else has."""

import json
from typing import Any

import msgspec
import pytest
from tests.features.configure.sample import drafted, interface, inventory, network, nodes, wish

from fabricgauge.features.configure.interface import plan, questions
from fabricgauge.features.configure.job import HEAD, Draft, Reply, Step
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Interface
from fabricgauge.model.inventory import Route

Links = dict[str, list[str]]


def link(name: str, addresses: list[str], **more: object) -> dict[str, object]:
    held = [
        {"family": "inet", "local": ip, "prefixlen": int(length)}
        for ip, _, length in (one.partition("/") for one in addresses)
    ]
    return {"ifname": name, "flags": ["UP"], "mtu": 1500, "addr_info": held, **more}


def job(
    backend: str, held: Links, *, interface_of: str, came_in: str = "", default: str = "",
    head: Links | None = None, masters: dict[str, str] | None = None, **more: Any,
) -> Draft:  # fmt: skip
    """One node c1 that answered; ``came_in`` is the address at which ssh reached it."""
    one = network(nodes=("c1",), interfaces={"c1": interface_of}, suffix="", **more)
    known = (inventory("c1", *(interface(name) for name in held)),)
    draft = drafted(wish(backend, one), known)
    replies = {}
    for question in questions(draft):
        words = question.argv
        if words[:4] == ("ip", "-j", "-d", "addr"):
            where = held if question.node else head or {}
            found = [link(name, ips, master=(masters or {}).get(name, "")) for name, ips in
                     where.items()]  # fmt: skip
            replies[question] = Reply(0, json.dumps(found))
        elif words[:2] == ("ip", "-j"):
            routes = [{"dst": "default", "gateway": "10.10.1.1", "dev": default}] if default else []
            replies[question] = Reply(0, json.dumps(routes))
        elif "SSH_CONNECTION" in " ".join(words):
            replies[question] = Reply(0, f"10.10.1.10 4711 {came_in} 22\n" if came_in else "\n")
        else:
            replies[question] = Reply(1, "")
    return msgspec.structs.replace(draft, replies=replies)


def todo(draft: Draft) -> list[Step]:
    return [one for one in plan(draft).steps if not one.fulfilled and one.commands]


@pytest.mark.parametrize("held", ["10.10.40.99/24", "10.10.40.21/8"])
def test_the_address_that_ssh_came_in_by_is_never_taken(held: str) -> None:
    """The wanted one with another mask as well: it would be gone before it is set again."""
    ip = held.partition("/")[0]
    with pytest.raises(UsageError, match=f"c1 is reached by its address {ip}, and ip addr del"):
        plan(job("ip", {"eth0": [held]}, interface_of="eth0", came_in=ip))


def test_the_address_that_ssh_came_in_by_does_not_go_with_another() -> None:
    """A subnet's first address carries the later ones of an interface."""
    held = {"eth0": ["10.10.40.99/24", "10.10.40.21/24"]}
    with pytest.raises(
        UsageError, match=r"by its address 10.10.40.21, and ip addr del 10.10.40.99"
    ):
        plan(job("ip", held, interface_of="eth0", came_in="10.10.40.21"))


def test_no_undoing_takes_away_the_address_that_ssh_came_in_by() -> None:
    held = {"eth0": ["10.10.40.21/24", "10.10.40.99/24"]}
    for backend in ("ip", "xcat"):
        steps = todo(job(backend, held, interface_of="eth0", came_in="10.10.40.21"))
        undone = [" ".join(command.argv) for step in steps for command in step.undo]
        assert undone and not [one for one in undone if "flush" in one]


@pytest.mark.parametrize("backend", ["ip", "xcat"])
def test_the_undoing_takes_away_an_address_that_was_not_there(backend: str) -> None:
    steps = todo(job(backend, {"eth0": ["10.10.1.21/24"], "eth1": []}, interface_of="eth1"))
    flush = ("ip", "addr", "flush", "dev", "eth1", "to", "10.10.40.21/32")
    assert flush in [command.argv for step in steps for command in step.undo]


def test_a_wanted_address_that_ssh_came_in_by_is_not_moved() -> None:
    held = {"eth0": ["10.10.40.21/24"], "eth1": []}
    with pytest.raises(UsageError, match="c1 is reached by its address 10.10.40.21"):
        plan(job("ip", held, interface_of="eth1", came_in="10.10.40.21"))
    first, *_ = todo(job("ip", held, interface_of="eth1", came_in="10.10.1.1"))
    assert first.title.startswith("Take 10.10.40.21/24 from c1:eth0") and not first.consent


def test_xcat_does_not_take_over_the_interface_that_ssh_came_in_by() -> None:
    backend = "xcat"
    held = {"eth0": ["10.10.1.21/24"], "eth1": []}
    with pytest.raises(UsageError, match=r"10.10.1.21 on eth0, and .* 10.10.40.21 alone"):
        plan(job(backend, held, interface_of="eth0", came_in="10.10.1.21"))
    assert todo(job(backend, held, interface_of="eth1", came_in="10.10.1.21"))
    # an address that only begins alike is another one
    assert todo(job(backend, {**held, "eth2": ["10.10.1.2/24"]}, interface_of="eth2",
                    came_in="10.10.1.21"))  # fmt: skip


@pytest.mark.parametrize("how", [{"came_in": "10.10.40.21"}, {"default": "eth0"}])
def test_changes_where_a_node_is_reached_need_consent(how: dict[str, Any]) -> None:
    backend = "ip"
    held = {"eth0": ["10.10.40.21/24"], "eth1": []}
    steps = todo(job(backend, held, interface_of="eth0", mtu_bytes=9000, **how))
    assert steps and all(step.consent == "management" for step in steps)
    assert all("10.10.40.21 on eth0" in one.reason or "default route" in one.reason
               for one in steps)  # fmt: skip
    held = {"eth0": ["10.10.1.21/24"], "eth1": []}
    away = todo(job(backend, held, interface_of="eth1", **{**how, "came_in": "10.10.1.21"}))
    assert away and not any(step.consent for step in away)


@pytest.mark.parametrize("backend", ["ip", "xcat"])
def test_a_port_of_a_bridge_or_bond_is_refused(backend: str) -> None:
    held: Links = {"eth0": [], "br0": ["10.10.1.21/24"]}
    with pytest.raises(UsageError, match="c1:eth0 belongs to br0, which has the addresses"):
        plan(job(backend, held, interface_of="eth0", masters={"eth0": "br0"}))


def test_an_address_of_the_head_or_a_gateway_or_another_node_is_refused() -> None:
    held: Links = {"eth1": []}
    with pytest.raises(
        UsageError, match="10.10.40.21 is planned for c1 in net40, but the head has"
    ):
        plan(job("xcat", held, interface_of="eth1", head={"eno1": ["10.10.40.21/24"]}))
    # a head that is a node of its own network has it rightly
    same = {"eth1": ["10.10.40.21/24"]}
    plan(job("xcat", same, interface_of="eth1", head=same))

    routed = msgspec.structs.replace(
        nodes()[0], routes=(Route("default", "eth0", "10.10.40.21", "", 0),)
    )
    with pytest.raises(UsageError, match="it is a gateway of c1"):
        plan(drafted(wish("xcat"), (routed, nodes()[1])))
    third: Interface = interface("eth7", "10.10.40.22/24")
    with pytest.raises(UsageError, match="c3:eth7 has it"):
        plan(drafted(wish("xcat"), (*nodes(), inventory("c3", third))))


def test_another_interface_in_the_wanted_subnet_is_noted() -> None:
    held = {"eth0": ["10.10.40.5/24"], "eth1": []}
    made = plan(job("xcat", held, interface_of="eth1"))
    assert any("c1:eth0 has 10.10.40.5/24, in the subnet of net40 on eth1" in one
               for one in made.notes)  # fmt: skip


def test_the_head_is_asked_as_well_as_the_nodes() -> None:
    asked = {question.node for question in questions(drafted(wish("ip"), nodes()))}
    assert asked == {HEAD, "c1", "c2"}
