"""NetworkManager: one profile as a keyfile for each interface.

Source: nm-settings-keyfile(5), nm-settings-nmcli(5) and nmcli(1) of NetworkManager 1.40.
"""

import uuid
from collections.abc import Iterator

from fabricgauge.configure.backends import profiles
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.backends.names import expressible
from fabricgauge.configure.backends.seen import address, transport_mode
from fabricgauge.configure.job import Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Wanted, WantedPort
from fabricgauge.model.finding import Command

_FOLDER = "/etc/NetworkManager/system-connections"

#: So that the same end of the same network always gets the same profile.
_SPACE = uuid.UUID("6fbb5d0c-6f3e-4c52-9d0a-7a4f5b1d2c3e")


def questions(job: Job) -> Iterator[Command]:
    yield from profiles.questions(job, profile)


def define(job: Job) -> Iterator[Step]:
    yield from profiles.steps(job, profile, "NetworkManager")


def profile(wanted: Wanted, port: WantedPort) -> profiles.Profile:
    """The profile of one end; NetworkManager reads no file that others may read, and lets an
    interface go whose profile is gone.
    """
    name = expressible(wanted.name, "network", "NetworkManager")
    path = f"{_FOLDER}/fabricgauge-{name}.nmconnection"  # nobody else's of that name
    identity = str(uuid.uuid5(_SPACE, f"{port.node}/{name}"))
    return profiles.Profile(
        path, keyfile(wanted, port, identity), "0600",
        (("nmcli", "connection", "load", path), ("nmcli", "connection", "up", "uuid", identity)),
        (("nmcli", "connection", "reload"),),
    )  # fmt: skip


def keyfile(wanted: Wanted, port: WantedPort, identity: str) -> str:
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


BACKEND = Backend("network-manager", "NetworkManager 1.40", questions, define)
