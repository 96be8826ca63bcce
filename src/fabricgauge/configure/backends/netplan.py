"""netplan: one YAML file for each network of a node.

Source: netplan(5) and netplan-apply(8) of netplan 0.106. Every text is a double-quoted YAML 1.2
scalar, so that no name can be read as anything else.
"""

from collections.abc import Iterator

from fabricgauge.configure.backends import profiles
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.backends.names import expressible
from fabricgauge.configure.backends.seen import address, transport_mode
from fabricgauge.configure.job import Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Wanted, WantedPort
from fabricgauge.model.finding import Command

#: Behind what installers write (00, 01, 50): later files win key by key, and lists of several
#: files are joined.
_PATH = "/etc/netplan/60-fabricgauge-{}.yaml"


def questions(job: Job) -> Iterator[Command]:
    yield from profiles.questions(job, profile)


def define(job: Job) -> Iterator[Step]:
    yield from profiles.steps(job, profile, "netplan")


def profile(wanted: Wanted, port: WantedPort) -> profiles.Profile:
    """The file of one end; netplan warns of files that others may read."""
    name = expressible(wanted.name, "network", "netplan")
    apply = (("netplan", "generate"), ("netplan", "apply"))
    return profiles.Profile(_PATH.format(name), document(wanted, port), "0600", apply, apply)


def document(wanted: Wanted, port: WantedPort) -> str:
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


BACKEND = Backend("netplan", "netplan 0.106", questions, define)
