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
from fabricgauge.configure.backends.ip_addresses import transport_mode
from fabricgauge.configure.backends.kind import Backend, expressible
from fabricgauge.configure.job import Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink

Argvs = tuple[tuple[str, ...], ...]


class ServiceFile(msgspec.Struct, frozen=True):
    """The file in which a node's network service keeps an interface.

    ``take_up`` makes the service follow it, ``let_go`` follows the removal of a file that was not
    there before. In the paths and commands stand {name} for the network's name, {interface}, {path}
    for the file and {uuid} for what ``identity`` makes. ``replaces`` as in ``Backend``.
    """

    name: str
    service: str
    place: str
    mode: str
    text: Callable[[WantedNetwork, WantedPort], str]
    take_up: Argvs
    let_go: Argvs
    replaces: bool = False

    def path(self, wanted: WantedNetwork) -> str:
        return self.place.format(name=expressible(wanted.name, "network", self.service))

    def backend(self) -> Backend:
        """For each interface its file, then the service's following it; names at the end."""

        def questions(job: Draft) -> Iterator[Command]:
            for wanted, port in job.ports:
                yield from files.questions(port.node, self.path(wanted))
            yield from hosts.asks(job)

        def define(job: Draft) -> Iterator[Step]:
            for wanted, port in job.ports:
                yield lifeline.asking(job, port, _of_port(job, wanted, port, self))
            yield from hosts.steps(job)

        return Backend(self.name, questions, define, replaces=self.replaces)


def _of_port(job: Draft, wanted: WantedNetwork, port: WantedPort, way: ServiceFile) -> Step:
    node, path = port.node, way.path(wanted)
    words = {"interface": port.interface, "path": path, "uuid": identity(wanted, port)}

    def commands(argvs: Argvs) -> list[Command]:
        return [Command(node, tuple(word.format(**words) for word in argv)) for argv in argvs]

    held = files.content(job, node, path)
    change = files.written(node, path, way.text(wanted, port), held, way.mode)
    undo = commands(way.take_up if isinstance(held, str) else way.let_go)
    link = links.link_of(job, port)
    if not isinstance(held, str):
        undo += _as_before(wanted, port, link)
    lifeline.require_own(job, port, way.service)
    return Step(
        f"Give {node}:{port.interface} the address {port.cidr} in {wanted.name}",
        f"{way.service} keeps it in {path}, so that it is there after every start",
        (*change.commands, *commands(way.take_up)),
        (*change.verify, *ip_addresses.all_of(wanted, port)),
        (*change.undo, *undo),
        undo_note="" if isinstance(held, str) else _not_restored(wanted, link),
        before=change.before,
    )


def _as_before(
    wanted: WantedNetwork, port: WantedPort, link: IpLink | Skipped
) -> Iterator[Command]:
    """What not every service takes back when its file is gone: the address, the MTU, and that it
    switched the interface on (networkd lets it go as it is).
    """
    if not isinstance(link, IpLink):
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


def _not_restored(wanted: WantedNetwork, link: IpLink | Skipped) -> str:
    if not isinstance(link, IpLink):
        return "the interface's former MTU, and whether it was switched on, are not known"
    if wanted.kind != "ethernet" and not ip_addresses.needs_connections(link.mtu_bytes):
        return "which IPoIB mode it had is not known"
    return ""


#: So that the same end of the same network always gets the same profile.
_SPACE = uuid.UUID("6fbb5d0c-6f3e-4c52-9d0a-7a4f5b1d2c3e")


def identity(wanted: WantedNetwork, port: WantedPort) -> str:
    return str(uuid.uuid5(_SPACE, f"{port.node}/{wanted.name}"))


def keyfile(wanted: WantedNetwork, port: WantedPort) -> str:
    """NetworkManager's profile of one end: never the default route, no IPv6 of its own."""
    interface = expressible(port.interface, "interface", "NetworkManager")
    kind = "ethernet" if wanted.kind == "ethernet" else "infiniband"
    link = [f"transport-mode={transport_mode(wanted)}"] if kind == "infiniband" else []
    if not isinstance(wanted.mtu_bytes, Skipped):
        link.append(f"mtu={wanted.mtu_bytes}")
    lines = [
        "[connection]", f"id={wanted.name}", f"uuid={identity(wanted, port)}", f"type={kind}",
        f"interface-name={interface}", "autoconnect=true", "",
        *([f"[{kind}]", *link, ""] if link else []),
        "[ipv4]", "method=manual", f"address1={port.cidr}", "never-default=true", "",
        "[ipv6]", "method=disabled",
    ]  # fmt: skip
    return files.joined(lines)


def netplan_text(wanted: WantedNetwork, port: WantedPort) -> str:
    interface = expressible(port.interface, "interface", "netplan")
    lines = [
        "network:", "  version: 2", "  ethernets:", f"    {quoted(interface)}:",
        "      dhcp4: false", f"      addresses: [{quoted(port.cidr)}]",
    ]  # fmt: skip
    if not isinstance(wanted.mtu_bytes, Skipped):
        lines.append(f"      mtu: {wanted.mtu_bytes}")
    if wanted.kind != "ethernet":
        lines.append(f"      infiniband-mode: {quoted(transport_mode(wanted))}")
    return files.joined(lines)


def quoted(text: str) -> str:
    """A double-quoted scalar of printable ASCII."""
    signs = (f"\\{sign}" if sign in '"\\' else sign for sign in text)
    return '"' + "".join(s if " " <= s[0] <= "~" else f"\\U{ord(s):08x}" for s in signs) + '"'


def networkd_text(wanted: WantedNetwork, port: WantedPort) -> str:
    interface = expressible(port.interface, "interface", "systemd-networkd")
    lines = ["[Match]", f"Name={interface}", ""]
    if not isinstance(wanted.mtu_bytes, Skipped):
        lines += ["[Link]", f"MTUBytes={wanted.mtu_bytes}", ""]
    lines += ["[Network]", "DHCP=no", f"Address={port.cidr}"]
    if wanted.kind != "ethernet":
        lines += ["", "[IPoIB]", f"Mode={transport_mode(wanted)}"]
    return files.joined(lines)


_LOAD = (
    ("nmcli", "connection", "load", "{path}"),
    ("nmcli", "connection", "up", "uuid", "{uuid}"),
)
_APPLY = (("netplan", "generate"), ("netplan", "apply"))
_FOLLOW = (("networkctl", "reload"), ("networkctl", "reconfigure", "{interface}"))

#: NetworkManager reads no file that others may read, and netplan warns of them; networkd itself
#: reads its files, as a user of its own. The names are nobody else's. Of netplan's files later ones
#: win key by key, and lists are joined: 60 is behind what installers write (00, 01, 50). Of
#: networkd's the first in the alphabet counts, and others say 70 or more.
NETWORK_MANAGER, NETPLAN, NETWORKD = (
    one.backend()
    for one in (
        ServiceFile(
            "network-manager", "NetworkManager",
            "/etc/NetworkManager/system-connections/fabricgauge-{name}.nmconnection", "0600",
            keyfile, _LOAD, (("nmcli", "connection", "reload"),),
        ),
        ServiceFile(
            "netplan", "netplan",
            "/etc/netplan/60-fabricgauge-{name}.yaml", "0600", netplan_text,
            _APPLY, _APPLY,
        ),
        ServiceFile(
            "networkd", "systemd-networkd",
            "/etc/systemd/network/60-fabricgauge-{name}.network", "0644", networkd_text,
            _FOLLOW, _FOLLOW, replaces=True,
        ),
    )
)  # fmt: skip
