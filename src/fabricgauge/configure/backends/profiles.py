"""Backends that keep a file of each interface: written, taken up, and removed again; pure.

Sources: nm-settings-keyfile(5), nm-settings-nmcli(5) and nmcli(1) of NetworkManager 1.40;
netplan(5) and netplan-apply(8) of netplan 0.106, where every text is a double-quoted YAML 1.2
scalar, so that no name can be read as anything else; systemd.network(5) and networkctl(1) of
systemd 252.
"""

import uuid
from collections.abc import Callable, Iterator

import msgspec

from fabricgauge.configure import files, hosts, lifeline, links
from fabricgauge.configure.backends import ip_addresses
from fabricgauge.configure.backends.ip_addresses import address, transport_mode
from fabricgauge.configure.backends.kind import Backend, expressible
from fabricgauge.configure.job import PlanInput
from fabricgauge.configure.links import Link
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command

Argvs = tuple[tuple[str, ...], ...]


class ServiceFile(msgspec.Struct, frozen=True):
    """A file of a node's network service: ``take_up`` makes the service follow it, ``let_go``
    follows the removal of a file that was not there before.
    """

    path: str
    text: str
    mode: str
    take_up: Argvs
    let_go: Argvs


FileOf = Callable[[WantedNetwork, WantedPort], ServiceFile]


def _backend(
    name: str, source: str, service: str, file_of: FileOf, *, replaces: bool = False
) -> Backend:
    """For each interface its file, then the service's following it; names at the end."""

    def questions(job: PlanInput) -> Iterator[Command]:
        for wanted, port in job.ports:
            yield from files.questions(port.node, file_of(wanted, port).path)
        yield from hosts.asks(job)

    def define(job: PlanInput) -> Iterator[Step]:
        for wanted, port in job.ports:
            yield from _of_port(job, wanted, port, file_of(wanted, port), service)
        yield from hosts.steps(job)

    return Backend(name, source, questions, define, replaces=replaces)


def _of_port(
    job: PlanInput, wanted: WantedNetwork, port: WantedPort, wish: ServiceFile, service: str
) -> Iterator[Step]:
    node = port.node
    held = files.content(job, node, wish.path)
    change = files.written(node, wish.path, wish.text, held, wish.mode)
    again = wish.take_up if isinstance(held, str) else wish.let_go
    commands = tuple(Command(node, argv) for argv in wish.take_up)
    undo = [Command(node, argv) for argv in again]
    link = links.link_of(job, port)
    if not isinstance(held, str):
        undo += _as_before(wanted, port, link)
    lifeline.require_own(job, port, service)
    step = Step(
        f"Give {node}:{port.interface} the address {ip_addresses.address(port)} in {wanted.name}",
        f"{service} keeps it in {wish.path}, so that it is there after every start",
        (*change.commands, *commands),
        (*change.verify, *ip_addresses.all_of(wanted, port)),
        (*change.undo, *undo),
        undo_note="" if isinstance(held, str) else _not_restored(wanted, link),
        before=change.before,
    )
    yield lifeline.asking(job, port, step)


def _as_before(wanted: WantedNetwork, port: WantedPort, link: Link | Skipped) -> Iterator[Command]:
    """What not every service takes back when its file is gone: the address, the MTU, and that it
    switched the interface on (networkd lets it go as it is).
    """
    if not isinstance(link, Link):
        return
    if all(one.ip != port.ip for one in link.ipv4):
        yield ip_addresses.taken(port)
    setting = ("ip", "link", "set", "dev", port.interface)
    if wanted.kind != "ethernet" and ip_addresses.needs_connections(link.mtu_bytes):
        yield Command(port.node, (*setting, "type", "ipoib", "mode", "connected"))
    if link.mtu_bytes:
        yield Command(port.node, (*setting, "mtu", str(link.mtu_bytes)))
    if not link.up:
        yield Command(port.node, (*setting, "down"))


def _not_restored(wanted: WantedNetwork, link: Link | Skipped) -> str:
    if not isinstance(link, Link):
        return "the interface's former MTU, and whether it was switched on, are not known"
    if wanted.kind != "ethernet" and not ip_addresses.needs_connections(link.mtu_bytes):
        return "which IPoIB mode it had is not known"
    return ""


_FOLDER = "/etc/NetworkManager/system-connections"

#: So that the same end of the same network always gets the same profile.
_SPACE = uuid.UUID("6fbb5d0c-6f3e-4c52-9d0a-7a4f5b1d2c3e")


def network_manager_file(wanted: WantedNetwork, port: WantedPort) -> ServiceFile:
    """The profile of one end; NetworkManager reads no file that others may read, and lets an
    interface go whose profile is gone.
    """
    name = expressible(wanted.name, "network", "NetworkManager")
    path = f"{_FOLDER}/fabricgauge-{name}.nmconnection"  # nobody else's of that name
    identity = str(uuid.uuid5(_SPACE, f"{port.node}/{name}"))
    return ServiceFile(
        path, keyfile(wanted, port, identity), "0600",
        (("nmcli", "connection", "load", path), ("nmcli", "connection", "up", "uuid", identity)),
        (("nmcli", "connection", "reload"),),
    )  # fmt: skip


def keyfile(wanted: WantedNetwork, port: WantedPort, identity: str) -> str:
    """The profile's text: never the default route, no IPv6 of its own."""
    interface = expressible(port.interface, "interface", "NetworkManager")
    kind = "ethernet" if wanted.kind == "ethernet" else "infiniband"
    link = [f"transport-mode={transport_mode(wanted)}"] if kind == "infiniband" else []
    if not isinstance(wanted.mtu_bytes, Skipped):
        link.append(f"mtu={wanted.mtu_bytes}")
    lines = [
        "[connection]", f"id={wanted.name}", f"uuid={identity}", f"type={kind}",
        f"interface-name={interface}", "autoconnect=true", "",
        *([f"[{kind}]", *link, ""] if link else []),
        "[ipv4]", "method=manual", f"address1={address(port)}", "never-default=true", "",
        "[ipv6]", "method=disabled",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


NETWORK_MANAGER = _backend(
    "network-manager", "NetworkManager 1.40", "NetworkManager", network_manager_file
)

#: Behind what installers write (00, 01, 50): later files win key by key, and lists of several
#: files are joined.
_NETPLAN_PATH = "/etc/netplan/60-fabricgauge-{}.yaml"


def netplan_file(wanted: WantedNetwork, port: WantedPort) -> ServiceFile:
    """The file of one end; netplan warns of files that others may read."""
    name = expressible(wanted.name, "network", "netplan")
    apply = (("netplan", "generate"), ("netplan", "apply"))
    return ServiceFile(_NETPLAN_PATH.format(name), netplan_text(wanted, port), "0600", apply, apply)


def netplan_text(wanted: WantedNetwork, port: WantedPort) -> str:
    """The file's text."""
    interface = expressible(port.interface, "interface", "netplan")
    lines = [
        "network:", "  version: 2", "  ethernets:", f"    {quoted(interface)}:",
        "      dhcp4: false", f"      addresses: [{quoted(address(port))}]",
    ]  # fmt: skip
    if not isinstance(wanted.mtu_bytes, Skipped):
        lines.append(f"      mtu: {wanted.mtu_bytes}")
    if wanted.kind != "ethernet":
        lines.append(f"      infiniband-mode: {quoted(transport_mode(wanted))}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A double-quoted scalar of printable ASCII."""
    return '"' + "".join(_sign(sign) for sign in text) + '"'


def _sign(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if " " <= sign <= "~" else f"\\U{ord(sign):08x}"


NETPLAN = _backend("netplan", "netplan 0.106", "netplan", netplan_file)

#: Of several files for an interface the first in the alphabet counts, and others say 70 or more.
_NETWORKD_PATH = "/etc/systemd/network/60-fabricgauge-{}.network"


def networkd_file(wanted: WantedNetwork, port: WantedPort) -> ServiceFile:
    """The file of one end; networkd itself reads it, as a user of its own."""
    name = expressible(wanted.name, "network", "systemd-networkd")
    follow = (("networkctl", "reload"), ("networkctl", "reconfigure", port.interface))
    return ServiceFile(
        _NETWORKD_PATH.format(name), networkd_text(wanted, port), "0644", follow, follow
    )


def networkd_text(wanted: WantedNetwork, port: WantedPort) -> str:
    """The file's text."""
    interface = expressible(port.interface, "interface", "systemd-networkd")
    lines = ["[Match]", f"Name={interface}", ""]
    if not isinstance(wanted.mtu_bytes, Skipped):
        lines += ["[Link]", f"MTUBytes={wanted.mtu_bytes}", ""]
    lines += ["[Network]", "DHCP=no", f"Address={address(port)}"]
    if wanted.kind != "ethernet":
        lines += ["", "[IPoIB]", f"Mode={transport_mode(wanted)}"]
    return "\n".join(lines) + "\n"


NETWORKD = _backend("networkd", "systemd 252", "systemd-networkd", networkd_file, replaces=True)
