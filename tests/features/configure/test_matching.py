"""Each node's own interface; nothing is guessed."""

import pytest
from tests.features.configure.sample import (
    adapter,
    drafted,
    interface,
    inventory,
    network,
    nodes,
    wish,
)

from fabricgauge.features.configure.description import Match
from fabricgauge.model.errors import UsageError
from fabricgauge.model.inventory import Inventory


def two() -> tuple[Inventory, ...]:
    return tuple(
        inventory(
            node, interface("eno1", f"10.10.1.{number}/24"), interface(name),
            adapters=(adapter(bus, name), adapter("0000:01:00.0", "eno1", product="I350")),
        )
        for node, number, name, bus in (
            ("c1", 21, "enp97s0", "0000:61:00.0"), ("c2", 22, "enp182s0", "0000:b6:00.0"),
        )
    )  # fmt: skip


def ports(match: Match = Match()) -> dict[str, str]:  # noqa: B008 -- frozen
    job = drafted(wish("ip", network(interfaces={}, match=match)), two())
    return {port.node: port.interface for _, port in job.ports}


def test_names_differ_between_like_nodes() -> None:
    assert ports(match=Match(product="xl710")) == {"c1": "enp97s0", "c2": "enp182s0"}


def test_without_a_match_the_interface_that_others_use_is_not_taken() -> None:
    assert ports() == {"c1": "enp97s0", "c2": "enp182s0"}


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (Match(driver="i40e"), "c1 has 2 interfaces for net40 (driver i40e, kind ethernet)"),
        (Match(product="ConnectX"), "c2 has no interface for net40 (product ConnectX"),
        (Match(bus="0000:61:00.0"), "c2 has no interface for net40 (bus 0000:61:00.0"),
        (Match(rate_bit_s=40e9), "c1 has no interface for net40 (kind ethernet, rate 40 Gb/s)"),
    ],
)
def test_ambiguity_and_absence_are_named_by_node(match: Match, words: str) -> None:
    with pytest.raises(UsageError, match="no plan is made") as error:
        ports(match=match)
    assert words in str(error.value)


def test_a_stated_interface_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="c1 has no interface enp9; it has eth0, enp97s0"):
        drafted(wish("ip", network(interfaces={"c1": "enp9", "c2": "enp182s0"})))


def test_one_interface_for_two_networks_is_refused() -> None:
    other = network("other", subnet="10.10.50.0/24", first="10.10.50.1")
    with pytest.raises(UsageError, match="c1:enp97s0 would carry both net40 and other"):
        drafted(wish("ip", network(), other), nodes())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"suffix": "-eth40"}, "c1-eth40 would name an end of b and net40"),
        ({"suffix": "1", "nodes": ("c1", "c11")}, "c11 would name an end of b and the node c11"),
        ({"plain": True, "suffix": ""}, "net40 and b cannot both have the nodes' plain names"),
    ],
)
def test_a_name_for_two_ends_is_refused(more: dict[str, object], words: str) -> None:
    usual: dict[str, object] = {
        "subnet": "10.2.0.0/24", "first": "10.2.0.1", "interfaces": dict.fromkeys(
            ("c1", "c2", "c11"), "eth0")}  # fmt: skip
    two = (network(plain=True), network("b", **usual | more))
    with pytest.raises(UsageError) as error:
        drafted(wish("ip", *two), (*nodes(), inventory("c11", interface("eth0"))))
    assert words in str(error.value)


def test_a_node_of_which_nothing_is_known_needs_a_stated_interface() -> None:
    job = drafted(wish("xcat"), ())
    assert {port.interface for _, port in job.ports} == {"enp97s0", "enp182s0"}
    with pytest.raises(UsageError, match="c1 is unknown; name its interface"):
        drafted(wish("xcat", network(interfaces={})), ())
