"""Which address each node gets, and which subnets overlap."""

import msgspec
import pytest
from tests.features.configure.sample import drafted, interface, inventory, network, wish

from fabricgauge.features.configure.interface import plan
from fabricgauge.model.errors import UsageError


def ips(**more: object) -> list[str]:
    wanted = msgspec.structs.replace(network(), **more)
    return [port.ip for _, port in drafted(wish("ip", wanted)).ports]


def test_addresses_are_counted_from_the_first() -> None:
    assert ips(first="10.10.40.250") == ["10.10.40.250", "10.10.40.251"]


def test_without_any_the_host_number_of_the_other_address_is_kept() -> None:
    assert ips(first="") == ["10.10.40.21", "10.10.40.22"]
    assert ips(first="", subnet="10.40.0.0/16") == ["10.40.1.21", "10.40.1.22"]


def test_a_stated_address_wins() -> None:
    assert ips(addresses={"c2": "10.10.40.99"}) == ["10.10.40.21", "10.10.40.99"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"first": "10.10.40.254"}, "10.10.40.255 cannot be c2's address"),
        ({"first": "10.10.41.1"}, "10.10.41.1 cannot be c1's address"),
        ({"addresses": {"c1": "10.10.40.0"}}, "10.10.40.0 cannot be c1's address"),
        ({"addresses": {"c1": "10.10.40.22"}}, "c1 and c2 would both have 10.10.40.22"),
        ({"addresses": {"c1": "ten"}}, "address of c1 in net40"),
        ({"subnet": "0.0.0.0/0"}, "0.0.0.0/0 holds addresses that no interface can have"),
        ({"subnet": "96.0.0.0/3"}, "96.0.0.0/3 holds addresses"),
        ({"subnet": "239.1.0.0/24"}, "239.1.0.0/24 holds addresses"),
        ({"subnet": "192.0.0.0/2"}, "192.0.0.0/2 holds addresses"),
        ({"subnet": "fd00::/64"}, "expected an IPv4 subnet such as 10.10.40.0/24"),
    ],
)
def test_an_impossible_address_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as error:
        ips(**more)
    assert words in str(error.value)


def test_two_ends_of_a_cable_may_have_a_31() -> None:
    assert ips(subnet="10.0.0.0/31", first="10.0.0.0") == ["10.0.0.0", "10.0.0.1"]


def test_several_management_addresses_are_not_guessed_among() -> None:
    many = tuple(
        inventory(name, interface("eth0", "10.10.1.2/24"), interface("eth1", "10.20.1.3/24"),
                  interface("enp97s0"), interface("enp182s0"))
        for name in ("c1", "c2")
    )  # fmt: skip
    with pytest.raises(UsageError, match="its management address is not clear"):
        drafted(wish("ip", network(first="")), many)
    job = drafted(wish("ip", network(first="", nodes=("c1",)), management="10.20.1.0/24"), many)
    assert [port.ip for _, port in job.ports] == ["10.10.40.3"]


@pytest.mark.parametrize("written", ["10.10.40.0/8", "10.10.40.0/255.0.0.0"])
def test_a_mask_that_swallows_other_networks_is_mended_and_noted(written: str) -> None:
    made = plan(drafted(wish("ip", network(subnet=written))))
    assert made.wanted[0].subnet == "10.10.40.0/24"
    assert any(
        note.startswith(f"mended: net40 is written {written}, that is 10.0.0.0/8, which also holds")
        and "10.10.1.0/24 on c1:eth0" in note
        for note in made.notes
    )


@pytest.mark.parametrize(
    ("written", "planned"),
    [("10.10.0.0/8", "10.10.0.0/16"), ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3/24", "10.1.2.0/24"),
     ("10.10.40.64/26", "10.10.40.64/26"), ("10.10.40.70/26", "10.10.40.64/26")],
)  # fmt: skip
def test_the_base_says_how_small_a_network_is_meant(written: str, planned: str) -> None:
    job = drafted(wish("ip", network(subnet=written, first="", addresses={
        "c1": planned.partition("/")[0][:-1] + "5", "c2": planned.partition("/")[0][:-1] + "6",
    })))  # fmt: skip
    assert job.wanted[0].subnet == planned


def test_overlapping_subnets_are_noted() -> None:
    wide = (
        inventory("c1", interface("eth0", "10.10.1.21/8"), interface("enp97s0")),
        inventory("c2", interface("eth0", "10.10.1.22/8"), interface("enp182s0")),
    )
    notes = plan(drafted(wish(), wide)).notes
    assert any("c1:eth0 (10.10.1.21) is in 10.0.0.0/8, which overlaps net40" in n for n in notes)
