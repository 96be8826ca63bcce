import pytest
from tests.nodes.discover.printouts.reading import parse, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface
from fabricgauge.nodes.discover.printouts.table import parse_named


def interfaces(case: str) -> dict[str, Interface]:
    return {one.name: one for one in read("ip_addr", case).printed_interfaces}


@pytest.mark.parametrize("case", ["6.1--text", "6.1--d-text", "6.1--json", "6.1--d-json"])
def test_all_forms_give_the_same_addresses_and_sizes(case: str) -> None:
    found = interfaces(case)
    assert list(found) == ["lo", "e0x", "e0", "e1x", "e1", "docker0"]
    assert found["e0"].mtu_bytes == 9000
    assert found["e0"].addresses[0] == Address("10.77.0.21", 24)
    assert found["e1"].addresses[0] == Address("10.78.0.21", 24)
    assert found["e0"].mac == "02:00:00:00:00:21"
    assert (found["e0"].carrier, found["docker0"].carrier) == (True, False)
    assert (found["lo"].driver, found["docker0"].driver) == ("loopback", "bridge")
    assert isinstance(found["e0"].speed_bit_s, Skipped)


def test_ip_link_has_no_addresses() -> None:
    assert not any(one.addresses for one in interfaces("6.1--link").values())


def test_a_bridge_is_known_by_its_ports_and_a_bond_by_its_flag() -> None:
    text = (
        "2: eth0: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc mq master storage state UP\n"
        "3: storage: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n"
        "4: bond0: <BROADCAST,MASTER,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n"
        "5: eth1: <BROADCAST,SLAVE,UP,LOWER_UP> mtu 1500 qdisc mq master bond0 state UP\n"
    )
    drivers = {one.name: one.driver for one in parse("ip_addr", text).printed_interfaces}
    assert (drivers["storage"], drivers["bond0"]) == ("bridge", "bonding")
    assert isinstance(drivers["eth0"], Skipped)


@pytest.mark.parametrize(
    "name",
    ["ip addr", "ip a", "ip -d addr", "ip -j address", "n1/ip_addr.txt", "ip-a.txt",
     "ip_-d_-j_addr.out", "ip-link.txt"],
)  # fmt: skip
def test_each_usual_name_is_known(name: str) -> None:
    parts = parse_named(name, raw("ip_addr", "6.1--text"))
    assert parts is not None
    assert len(parts.printed_interfaces) == 6


@pytest.mark.parametrize("text", ['Object "adr" is unknown\n', "[{]", "[]", "", "1: lo: <"])
def test_other_text_is_a_trouble_and_no_interface(text: str) -> None:
    parts = parse("ip_addr", text)
    assert not parts.printed_interfaces
    assert bool(parts.troubles) == (text != "[]")
