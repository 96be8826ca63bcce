"""xCAT: the networks table, the nics of each node, names, and nodes updated without a restart.

Source: xCAT 2.16, manual pages of chdef, lsdef, makenetworks, makehosts, makedns, updatenode and
packimage, and "Configure Additional Network Interfaces" (confignetwork).
"""

import ipaddress
from collections.abc import Iterator
from pathlib import PurePosixPath

from fabricgauge.configure import lifeline, links
from fabricgauge.configure.backends import ip_addresses, seen, xcat_names, xcat_notes
from fabricgauge.configure.backends.definitions import definitions
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.backends.names import expressible
from fabricgauge.configure.description import Image
from fabricgauge.configure.image import changed_files, newer
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, Wanted, WantedPort
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

_TYPES = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "omni-path": "InfiniBand"}
_NIC_ATTRIBUTES = ("nicips", "nicnetworks", "nictypes", "nichostnamesuffixes")
_POSTSCRIPT = "confignetwork"
_NETWORKS = Command(HEAD, ("lsdef", "-t", "network", "-l"))


def questions(job: Job) -> Iterator[Command]:
    """What the tables say already; of all nodes in one command each."""
    yield _NETWORKS
    yield _nics(",".join(job.nodes))
    yield _postscripts(",".join(job.nodes))
    yield from xcat_names.asks()


def define(job: Job) -> Iterator[Step]:
    """Tables first, then the names that are made of them."""
    for wanted in job.wanted:
        yield _network(job, wanted)
    yield _makenetworks()
    yield from (_nic(job, wanted, port) for wanted, port in job.ports)
    yield from xcat_names.steps(job)
    yield from _confignetwork(job)


def activate(job: Job) -> Iterator[Step]:
    """The postscript on the running nodes. It always needs consent: its -s touches the interface
    that a node was installed by, whichever that is, and most often the node is reached by it.
    """
    nodes = ",".join(job.nodes)
    new = [port for _, port in job.ports if links.has(job, port) is not True]
    step = Step(
        "Configure the interfaces of the running nodes, without a restart",
        f"{_POSTSCRIPT} reads the nics that are defined now; its -s also writes the interface that"
        " the nodes were installed by anew, by which they are most often reached",
        (Command(HEAD, ("updatenode", nodes, "-P", f"{_POSTSCRIPT} -s")),),
        tuple(check for wanted, port in job.ports for check in seen.all_of(wanted, port)),
        tuple(ip_addresses.taken(port) for port in new),
        undo_note=f"what {_POSTSCRIPT} wrote on a node's own disk stays there",
        consent=lifeline.CONSENT,
    )
    for _, port in job.ports:
        step = lifeline.asking(job, port, step)
    yield step


def pack(job: Job, image: Image) -> Iterator[Step]:
    """packimage puts its archive beside the root directory of the image.

    Raises:
        UsageError: the image has no name.
    """
    if not image.osimage:
        raise UsageError(
            f"{job.description.origin}: [image] needs osimage, the name that lsdef -t osimage shows"
        )
    place = str(PurePosixPath(image.root).parent)
    found = newer(image.root, (place, "-maxdepth", "1", "-name", "rootimg.*"), changed_files(image))
    yield Step(
        f"Pack the image {image.osimage}",
        "nodes get the packed image when they start",
        (Command(HEAD, ("packimage", image.osimage)),),
        (found,),
        (),
        undo_note="pack it again once its changes are undone",
        follows=True,
    )


def _network(job: Job, wanted: Wanted) -> Step:
    name = expressible(wanted.name, "network", "xCAT")
    subnet = ipaddress.IPv4Network(wanted.subnet)
    values = {"net": str(subnet.network_address), "mask": str(subnet.netmask)}
    if not isinstance(wanted.mtu_bytes, Skipped):
        values["mtu"] = str(wanted.mtu_bytes)
    held = _held(job, _NETWORKS, name)
    if held.get("net", values["net"]) != values["net"]:
        raise UsageError(
            f"{job.description.origin}: xCAT has a network {name} of {held['net']} already, not of"
            f" {values['net']}; give this one another name, or remove that one"
        )
    shown = Command(HEAD, ("lsdef", "-t", "network", "-o", name, "-i", ",".join(values)))
    return Step(
        f"Define the network {name} ({subnet})",
        "nics and names refer to it, and makedns leaves out what is in no defined network",
        (_chdef("network", name, values),),
        tuple(Verification(shown, f"{key}={value}\n") for key, value in values.items()),
        (_chdef("network", name, {key: held.get(key, "") for key in values}),)
        if held
        else (Command(HEAD, ("rmdef", "-t", "network", "-o", name)),),
        undo_note=_unknown(job, _NETWORKS),
        fulfilled=_evidence(name, held, values),
    )


def _makenetworks() -> Step:
    return Step(
        "Define the networks that the head itself is in",
        "names of nodes in them would be left out otherwise",
        (Command(HEAD, ("makenetworks",)),),
        (),
        (),
        undo_note="it only adds the head's own networks; rmdef -t network removes one",
        follows=True,
    )


def _nic(job: Job, wanted: Wanted, port: WantedPort) -> Step:
    if "." in wanted.suffix:
        raise UsageError(
            f"{job.description.origin}: xCAT takes no suffix with a dot, and {wanted.name} has"
            f" {wanted.suffix}; write it without"
        )
    node, interface = port.node, expressible(port.interface, "interface", "xCAT")
    said = (port.ip, wanted.name, _TYPES[wanted.kind], wanted.suffix)
    values = {
        f"{attribute}.{interface}": value
        for attribute, value in zip(_NIC_ATTRIBUTES, said, strict=True)
        if value
    }
    asked = _nics(",".join(job.nodes))
    held = _held(job, asked, node)
    shown = _nics(node)
    lifeline.require_own(job, port, "xCAT")
    step = Step(
        f"Give {node} the address {port.ip} on {interface} in {wanted.name}",
        f"{interface} is the name that {node} itself has for the adapter{_instead(held, values)}",
        (_chdef("node", node, values),),
        tuple(Verification(shown, f"{key}={value}\n") for key, value in values.items()),
        (_chdef("node", node, {key: held.get(key, "") for key in values}),),
        undo_note=_unknown(job, asked),
        fulfilled=_evidence(node, held, values),
    )
    return lifeline.asking(job, port, step)


def _instead(held: dict[str, str], values: dict[str, str]) -> str:
    """What is overwritten, which a reviewer should see."""
    old = [f"{key}={held[key]}" for key, value in values.items() if held.get(key, value) != value]
    return f"; xCAT has {' '.join(old)}" if old else ""


def _confignetwork(job: Job) -> Iterator[Step]:
    """For the nodes that do not have the postscript yet; -p puts it behind the others."""
    asked = _postscripts(",".join(job.nodes))
    held = {node: _held(job, asked, node).get("postscripts", "") for node in job.nodes}
    have = {node for node, scripts in held.items() if _has_postscript(scripts)}
    lacking = ",".join(node for node in job.nodes if node not in have)
    chosen = lacking or ",".join(job.nodes)
    value = f"postscripts={_POSTSCRIPT}"
    yield Step(
        "Have nodes configure these interfaces at every start",
        f"the postscript {_POSTSCRIPT} does it",
        (Command(HEAD, ("chdef", "-t", "node", "-o", chosen, "-p", value)),),
        tuple(Verification(_postscripts(node), _POSTSCRIPT) for node in chosen.split(",")),
        (Command(HEAD, ("chdef", "-t", "node", "-o", chosen, "-m", value)),),
        undo_note=_unknown(job, asked),
        fulfilled="" if lacking else f"{chosen} have {_POSTSCRIPT} among their postscripts",
    )


def _has_postscript(scripts: str) -> bool:
    """With or without options: ``confignetwork -s``."""
    return any(one.split()[:1] == [_POSTSCRIPT] for one in scripts.split(","))


def _nics(nodes: str) -> Command:
    return Command(HEAD, ("lsdef", "-t", "node", "-o", nodes, "-i", ",".join(_NIC_ATTRIBUTES)))


def _postscripts(nodes: str) -> Command:
    return Command(HEAD, ("lsdef", "-t", "node", "-o", nodes, "-i", "postscripts"))


def _chdef(kind: str, name: str, values: dict[str, str]) -> Command:
    words = (f"{key}={value}" for key, value in values.items())
    return Command(HEAD, ("chdef", "-t", kind, "-o", name, *words))


def _held(job: Job, question: Command, name: str) -> dict[str, str]:
    reply = job.reply(question)
    return {} if isinstance(reply, Skipped) else definitions(reply.output).get(name, {})


def _unknown(job: Job, question: Command) -> str:
    """What the undoing cannot know where nobody asked."""
    if isinstance(job.reply(question), Skipped):
        return "what xCAT has of it was not asked, so that the undoing does not restore it"
    return ""


def _evidence(name: str, held: dict[str, str], values: dict[str, str]) -> str:
    if any(held.get(key) != value for key, value in values.items()):
        return ""
    return f"xCAT has of {name}: " + " ".join(f"{key}={value}" for key, value in values.items())


BACKEND = Backend(
    "xcat", "xCAT 2.16", questions, define, activate, xcat_notes.notes, pack, from_head=True
)
