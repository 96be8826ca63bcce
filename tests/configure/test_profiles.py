"""Files of network services, read back by parsers of their formats."""

import configparser
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.configure.sample import (
    NO,
    answered,
    drafted,
    interface,
    inventory,
    network,
    wish,
)

from fabricgauge.configure.backends.profiles import (
    identity,
    keyfile,
    netplan_text,
    networkd_text,
    quoted,
)
from fabricgauge.configure.interface import plan
from fabricgauge.model.configuration import Step, WantedNetwork, WantedPort
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Interface

PORT = WantedPort("c1", "enp97s0", "10.10.40.21", 24)


def wanted(kind: str = "ethernet", mtu: int = 9000) -> WantedNetwork:
    return WantedNetwork("net40", "10.10.40.0/24", kind, (PORT,), NO, mtu or NO, "")


def ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_netplan_reads_what_was_meant() -> None:
    ethernet = {"dhcp4": False, "addresses": ["10.10.40.21/24"], "mtu": 9000}
    assert yaml.safe_load(netplan_text(wanted(), PORT)) == {
        "network": {"version": 2, "ethernets": {"enp97s0": ethernet}}
    }
    fabric = yaml.safe_load(netplan_text(wanted("omni-path", 0), PORT))
    assert fabric["network"]["ethernets"]["enp97s0"] == {
        "dhcp4": False, "addresses": ["10.10.40.21/24"], "infiniband-mode": "datagram",
    }  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_scalar_is_the_same_text(text: str) -> None:
    assert yaml.safe_load(quoted(text)) == text
    assert quoted(text).isascii() and quoted(text).isprintable()


def test_networkmanager_reads_what_was_meant() -> None:
    found = ini(keyfile(wanted(), PORT))
    assert found["connection"] == {
        "id": "net40", "uuid": identity(wanted(), PORT), "type": "ethernet",
        "interface-name": "enp97s0", "autoconnect": "true",
    }  # fmt: skip
    assert found["ethernet"] == {"mtu": "9000"}
    assert found["ipv4"]["address1"] == "10.10.40.21/24" and found["ipv4"]["method"] == "manual"
    fabric = ini(keyfile(wanted("infiniband", 0), PORT))
    assert fabric["infiniband"] == {"transport-mode": "datagram"}


def test_an_mtu_that_no_datagram_carries_gets_connections() -> None:
    """NetworkManager cuts it down otherwise, and no verification would ever hold."""
    large = wanted("infiniband", 65520)
    assert ini(keyfile(large, PORT))["infiniband"] == {
        "transport-mode": "connected", "mtu": "65520"
    }  # fmt: skip
    assert 'infiniband-mode: "connected"' in netplan_text(large, PORT)
    assert 'infiniband-mode: "datagram"' in netplan_text(wanted("infiniband", 4092), PORT)


def test_networkd_reads_what_was_meant() -> None:
    assert ini(networkd_text(wanted(), PORT)) == {
        "Match": {"Name": "enp97s0"}, "Link": {"MTUBytes": "9000"},
        "Network": {"DHCP": "no", "Address": "10.10.40.21/24"},
    }  # fmt: skip
    assert "Link" not in ini(networkd_text(wanted(mtu=0), PORT))
    assert ini(networkd_text(wanted("infiniband", 65520), PORT))["IPoIB"] == {"Mode": "connected"}


FILES = {
    "netplan": ("/etc/netplan/60-fabricgauge-net40.yaml", "0600", ("netplan", "apply")),
    "networkd": ("/etc/systemd/network/60-fabricgauge-net40.network", "0644",
                 ("networkctl", "reload")),
    "network-manager": (
        "/etc/NetworkManager/system-connections/fabricgauge-net40.nmconnection", "0600",
        ("nmcli", "connection", "load"),
    ),
}  # fmt: skip


def first(backend: str, files: dict[tuple[str, str], str] | None = None) -> Step:
    job = drafted(wish(backend))
    return plan(answered(job, files) if files is not None else job).steps[0]


@pytest.mark.parametrize("backend", FILES)
def test_a_file_that_was_not_there_is_made_and_removed(backend: str) -> None:
    path, mode, command = FILES[backend]
    step = first(backend, {})
    argvs = [one.argv for one in step.commands]
    (put,) = (at for at, argv in enumerate(argvs) if argv[4:6] == ("put", path))
    assert argvs[put][-1] == mode
    assert put < next(at for at, argv in enumerate(argvs) if argv[: len(command)] == command)
    assert step.before[0].command.argv == ("test", "!", "-e", path)
    assert step.undo[0].argv[4:6] == ("drop", path)
    assert step.undo[0].stdin == step.commands[put].stdin


@pytest.mark.parametrize("backend", FILES)
def test_a_file_that_was_there_is_put_back(backend: str) -> None:
    path = FILES[backend][0]
    step = first(backend, {("c1", path): "old\n"})
    assert step.before[0].command.stdin == "old\n"
    assert step.undo[0].argv[4:6] == ("undo", path)
    assert step.undo[0].stdin.startswith("-old\n+")


def back(step: Step) -> list[str]:
    return [" ".join(one.argv) for one in step.undo if one.argv[0] == "ip"]


def undone(backend: str, held: Interface, files: dict[tuple[str, str], str], **more: Any) -> Step:
    """The step for an interface that is as discovery says, with these files there."""
    one = network(nodes=("c1",), interfaces={"c1": held.name}, **more)
    job = drafted(wish(backend, one), (inventory("c1", held),))
    return plan(answered(job, files)).steps[0]


@pytest.mark.parametrize("backend", FILES)
def test_the_undoing_restores_mtu_and_link_of_an_interface_that_had_no_file(backend: str) -> None:
    flush = "ip addr flush dev eth1 to 10.10.40.21/32"
    on = undone(backend, interface("eth1"), {})
    assert back(on) == [flush, "ip link set dev eth1 mtu 1500"] and not on.undo_note
    off = undone(backend, interface("eth1", up=False), {})
    assert back(off) == [
        flush, "ip link set dev eth1 mtu 1500", "ip link set dev eth1 down"
    ]  # fmt: skip
    old = undone(backend, interface("eth1"), {("c1", FILES[backend][0]): "old\n"})
    assert back(old) == [] and not old.undo_note  # its own file says it


@pytest.mark.parametrize("backend", FILES)
def test_the_undoing_restores_the_connections_of_a_large_mtu(backend: str) -> None:
    large = undone(backend, interface("ib0", mtu=65520), {}, kind="infiniband", mtu_bytes=2044)
    assert back(large)[1:] == [
        "ip link set dev ib0 type ipoib mode connected", "ip link set dev ib0 mtu 65520"
    ]  # fmt: skip
    small = undone(backend, interface("ib0", mtu=2044), {}, kind="infiniband", mtu_bytes=65520)
    assert "which IPoIB mode it had is not known" in small.undo_note


@pytest.mark.parametrize("backend", FILES)
def test_an_interface_of_which_nothing_is_known_is_noted(backend: str) -> None:
    made = plan(answered(drafted(wish(backend), ()), {})).steps[0]
    assert back(made) == [] and "former MTU" in made.undo_note


@pytest.mark.parametrize("backend", ["xcat", "warewulf", "network-manager", "netplan", "networkd"])
@pytest.mark.parametrize("name", ["a;b", "a b", "a'b", "$(x)", "a,b", "a=b", "*", "-x", "a|b"])
def test_a_name_that_a_format_cannot_express_is_refused(backend: str, name: str) -> None:
    named = network(interfaces={"c1": name, "c2": name})
    with pytest.raises(UsageError, match="cannot be written for"):
        plan(drafted(wish(backend, named), ()))
