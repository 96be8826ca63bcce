"""Warewulf 4: network devices of each node, overlays, and the nodes' next start.

Source: Warewulf 4.6 user guide, "Network Interfaces" and "Node Images"; wwctl node set --help.
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.configure import lifeline
from fabricgauge.configure.backends.kind import Backend, expressible
from fabricgauge.configure.description import Image
from fabricgauge.configure.image import packed
from fabricgauge.configure.job import HEAD, Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

_TYPES = {"ethernet": "ethernet", "infiniband": "infiniband", "omni-path": "infiniband"}

#: paths.wwprovisiondir of warewulf.conf as 4.6 is built, "images".
_PACKED = "/var/lib/warewulf/provision/images"


#: The network device that a node is added with, and primary unless told otherwise.
_PRIMARY = "default"


def define(job: Draft) -> Iterator[Step]:
    """Nothing is asked beforehand: each step's own verification shows what is there."""
    yield from (_device(job, wanted, port) for wanted, port in job.ports)
    nodes = job.nodes
    yield Step(
        "Build the overlays of the nodes",
        "they carry a node's network configuration to it",
        (Command(HEAD, ("wwctl", "overlay", "build", *nodes)),),
        undo_note="built again for each node whose network is undone",
        follows=True,
    )


def pack(job: Draft, image: Image) -> Iterator[Step]:
    """``wwctl image`` is 4.6's word; 4.5 and before say ``wwctl container``.

    Raises:
        UsageError: the image has no name.
    """
    if not image.osimage:
        raise UsageError(
            f"{job.description.origin}: [image] needs osimage, the name that wwctl image list shows"
        )
    name = expressible(image.osimage, "image", "Warewulf")
    found = packed(image, (_PACKED, "-maxdepth", "1", "-name", f"{name}.img*"))
    yield Step(
        f"Build the image {name}",
        "nodes get the built image when they start",
        (Command(HEAD, ("wwctl", "image", "build", "--force", name)),),
        (found,),
        undo_note="build it again once its changes are undone",
        follows=True,
    )


def notes(job: Draft) -> Iterator[str]:
    yield "written for wwctl 4.6; nodes take their network configuration up when they start"


def _device(job: Draft, wanted: WantedNetwork, port: WantedPort) -> Step:
    name = expressible(wanted.name, "network", "Warewulf")
    interface = expressible(port.interface, "interface", "Warewulf")
    lifeline.require_own(job, port, "Warewulf")
    if name == _PRIMARY:
        raise UsageError(
            f"{job.description.origin}: Warewulf's nodes start over their network {name}; give this"
            " one another name"
        )
    subnet = ipaddress.IPv4Network(wanted.subnet)
    words = [
        f"--netname={name}", f"--netdev={interface}", f"--ipaddr={port.ip}",
        f"--netmask={subnet.netmask}", f"--type={_TYPES[wanted.kind]}", "--onboot=true",
    ]  # fmt: skip
    if not isinstance(wanted.mtu_bytes, Skipped):
        words.append(f"--mtu={wanted.mtu_bytes}")
    shown = Command(HEAD, ("wwctl", "node", "list", "--all", port.node))
    step = Step(
        f"Give {port.node} the network {name}: {port.cidr} on {interface}",
        f"{interface} is the name that {port.node} itself has for the adapter",
        (Command(HEAD, ("wwctl", "node", "set", "--yes", *words, port.node)),),
        (Verification(shown, f" {port.ip}\n"), Verification(shown, f" {interface}\n")),
        (
            Command(HEAD, ("wwctl", "node", "set", "--yes", f"--netdel={name}", port.node)),
            Command(HEAD, ("wwctl", "overlay", "build", port.node)),
        ),
        undo_note=f"the node's network {name} is removed, also if it was there before",
    )
    return lifeline.asking(job, port, step)


WAREWULF = Backend(
    "warewulf", lambda job: (), define, notes=notes, pack=pack, from_head=True,
    at_boot=True,
)  # fmt: skip
