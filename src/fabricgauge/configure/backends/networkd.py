"""systemd-networkd: one .network file for each interface.

Source: systemd.network(5) and networkctl(1) of systemd 252.
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

#: Of several files for an interface the first in the alphabet counts, and others say 70 or more.
_PATH = "/etc/systemd/network/60-fabricgauge-{}.network"


def questions(job: Job) -> Iterator[Command]:
    yield from profiles.questions(job, profile)


def define(job: Job) -> Iterator[Step]:
    yield from profiles.steps(job, profile, "systemd-networkd")


def profile(wanted: Wanted, port: WantedPort) -> profiles.Profile:
    """The file of one end; networkd itself reads it, as a user of its own."""
    name = expressible(wanted.name, "network", "systemd-networkd")
    follow = (("networkctl", "reload"), ("networkctl", "reconfigure", port.interface))
    return profiles.Profile(_PATH.format(name), unit(wanted, port), "0644", follow, follow)


def unit(wanted: Wanted, port: WantedPort) -> str:
    """The file's text."""
    interface = expressible(port.interface, "interface", "systemd-networkd")
    lines = ["[Match]", f"Name={interface}", ""]
    if not isinstance(wanted.mtu_bytes, Skipped):
        lines += ["[Link]", f"MTUBytes={wanted.mtu_bytes}", ""]
    lines += ["[Network]", "DHCP=no", f"Address={address(port)}"]
    if wanted.kind != "ethernet":
        lines += ["", "[IPoIB]", f"Mode={transport_mode(wanted)}"]
    return "\n".join(lines) + "\n"


BACKEND = Backend("networkd", "systemd 252", questions, define, replaces=True)
