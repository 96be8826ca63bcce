"""xCAT: the networks table, the nics of each node, names, and nodes updated without a restart.

Source: xCAT 2.16, manual pages of chdef, lsdef, makenetworks, makehosts, makedns, updatenode and
packimage, and "Configure Additional Network Interfaces" (confignetwork). Where the plan differs
from the validation guide that it follows: Interconnect Performance Validation, revision 1.2
(November 2021), sections High-Speed Ethernet and Omni-path, Configuration.
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from fabricgauge.configure import files, lifeline, links
from fabricgauge.configure.backends import ip_addresses
from fabricgauge.configure.backends.kind import Backend, expressible
from fabricgauge.configure.description import Image
from fabricgauge.configure.image import packed
from fabricgauge.configure.job import HEAD, Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

_TYPES = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "omni-path": "InfiniBand"}
_NIC_ATTRIBUTES = ("nicips", "nicnetworks", "nictypes", "nichostnamesuffixes")
_POSTSCRIPT = "confignetwork"
_NETWORKS = Command(HEAD, ("lsdef", "-t", "network", "-l"))
_HOSTS = "/etc/hosts"


def questions(job: Draft) -> Iterator[Command]:
    """What the tables say already; of all nodes in one command each."""
    yield _NETWORKS
    yield _nics(job.nodes)
    yield _lsdef("node", job.nodes, "postscripts")
    yield from files.questions(HEAD, _HOSTS)


def define(job: Draft) -> Iterator[Step]:
    """Tables first, then the names that are made of them."""
    for wanted in job.wanted:
        yield _network(job, wanted)
    yield _makenetworks()
    yield from (_nic(job, wanted, port) for wanted, port in job.ports)
    yield _makehosts(job)  # the name server's zones are made of the hosts file
    yield _makedns(job)
    yield from _confignetwork(job)


def activate(job: Draft) -> Iterator[Step]:
    """The postscript on the running nodes. It always needs consent: its -s touches the interface
    that a node was installed by, whichever that is, and most often the node is reached by it.
    """
    nodes = ",".join(job.nodes)
    held = [(port, links.link_of(job, port)) for _, port in job.ports]
    new = [
        port
        for port, link in held
        if isinstance(link, Skipped) or all(one.ip != port.ip for one in link.ipv4)
    ]
    step = Step(
        "Configure the interfaces of the running nodes, without a restart",
        f"{_POSTSCRIPT} reads the nics that are defined now; its -s also writes the interface that"
        " the nodes were installed by anew, by which they are most often reached",
        (Command(HEAD, ("updatenode", nodes, "-P", f"{_POSTSCRIPT} -s")),),
        tuple(check for wanted, port in job.ports for check in ip_addresses.all_of(wanted, port)),
        tuple(ip_addresses.taken(port) for port in new),
        undo_note=f"what {_POSTSCRIPT} wrote on a node's own disk stays there",
        consent=lifeline.CONSENT,
    )
    for _, port in job.ports:
        step = lifeline.asking(job, port, step)
    yield step


def pack(job: Draft, image: Image) -> Iterator[Step]:
    """packimage puts its archive beside the root directory of the image.

    Raises:
        UsageError: the image has no name.
    """
    if not image.osimage:
        raise UsageError(
            f"{job.description.origin}: [image] needs osimage, the name that lsdef -t osimage shows"
        )
    place = str(PurePosixPath(image.root).parent)
    found = packed(image, (place, "-maxdepth", "1", "-name", "rootimg.*"))
    yield Step(
        f"Pack the image {image.osimage}",
        "nodes get the packed image when they start",
        (Command(HEAD, ("packimage", image.osimage)),),
        (found,),
        undo_note="pack it again once its changes are undone",
        follows=True,
    )


def _network(job: Draft, wanted: WantedNetwork) -> Step:
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
    remove = Command(HEAD, ("rmdef", "-t", "network", "-o", name))
    return _defined(
        job, ("network", name), values, _NETWORKS, _lsdef("network", (name,), *values),
        f"Define the network {name} ({subnet})",
        "nics and names refer to it, and makedns leaves out what is in no defined network",
        () if held else (remove,),
    )  # fmt: skip


def _defined(
    job: Draft,
    named: tuple[str, str],
    values: dict[str, str],
    asked: Command,
    shown: Command,
    title: str,
    reason: str,
    undo: tuple[Command, ...] = (),
) -> Step:
    """The step that gives an object, by its kind and name, these values.

    The undoing restores the values that ``asked`` printed. ``shown`` prints the object.
    """
    kind, name = named
    held = _held(job, asked, name)
    evidence = f"xCAT has of {name}: " + " ".join(f"{key}={held.get(key)}" for key in values)
    return Step(
        title,
        reason,
        (_chdef(kind, name, values),),
        tuple(Verification(shown, f"{key}={value}\n") for key, value in values.items()),
        undo or (_chdef(kind, name, {key: held.get(key, "") for key in values}),),
        undo_note=_unknown(job, asked),
        fulfilled=evidence if held.items() >= values.items() else "",
    )


def _makenetworks() -> Step:
    return Step(
        "Define the networks that the head itself is in",
        "names of nodes in them would be left out otherwise",
        (Command(HEAD, ("makenetworks",)),),
        undo_note="it only adds the head's own networks; rmdef -t network removes one",
        follows=True,
    )


def _nic(job: Draft, wanted: WantedNetwork, port: WantedPort) -> Step:
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
    held = _held(job, _nics(job.nodes), node)
    old = [f"{key}={held[key]}" for key, value in values.items() if held.get(key, value) != value]
    instead = f"; xCAT has {' '.join(old)}" if old else ""  # which a reviewer should see
    lifeline.require_own(job, port, "xCAT")
    step = _defined(
        job, ("node", node), values, _nics(job.nodes), _nics((node,)),
        f"Give {node} the address {port.ip} on {interface} in {wanted.name}",
        f"{interface} is the name that {node} itself has for the adapter{instead}",
    )  # fmt: skip
    return lifeline.asking(job, port, step)


def _confignetwork(job: Draft) -> Iterator[Step]:
    """For the nodes that do not have the postscript yet; -p puts it behind the others."""
    asked = _lsdef("node", job.nodes, "postscripts")
    held = {node: _held(job, asked, node).get("postscripts", "") for node in job.nodes}
    have = {  # with or without options: ``confignetwork -s``
        node
        for node, scripts in held.items()
        if any(one.split()[:1] == [_POSTSCRIPT] for one in scripts.split(","))
    }
    lacking = ",".join(node for node in job.nodes if node not in have)
    chosen = lacking or ",".join(job.nodes)
    value = f"postscripts={_POSTSCRIPT}"
    yield Step(
        "Have nodes configure these interfaces at every start",
        f"the postscript {_POSTSCRIPT} does it",
        (Command(HEAD, ("chdef", "-t", "node", "-o", chosen, "-p", value)),),
        tuple(
            Verification(_lsdef("node", (node,), "postscripts"), _POSTSCRIPT)
            for node in chosen.split(",")
        ),
        (Command(HEAD, ("chdef", "-t", "node", "-o", chosen, "-m", value)),),
        undo_note=_unknown(job, asked),
        fulfilled="" if lacking else f"{chosen} have {_POSTSCRIPT} among their postscripts",
    )


def _lsdef(kind: str, names: Sequence[str], *attributes: str) -> Command:
    return Command(HEAD, ("lsdef", "-t", kind, "-o", ",".join(names), "-i", ",".join(attributes)))


def _nics(nodes: Sequence[str]) -> Command:
    return _lsdef("node", nodes, *_NIC_ATTRIBUTES)


def _chdef(kind: str, name: str, values: dict[str, str]) -> Command:
    words = (f"{key}={value}" for key, value in values.items())
    return Command(HEAD, ("chdef", "-t", kind, "-o", name, *words))


def _held(job: Draft, question: Command, name: str) -> dict[str, str]:
    return definitions(job.output(question)).get(name, {})


def _unknown(job: Draft, question: Command) -> str:
    """What the undoing cannot know where it was not asked."""
    if isinstance(job.reply(question), Skipped):
        return "what xCAT has of it was not asked, so that the undoing does not restore it"
    return ""


def _notes(job: Draft) -> Iterator[str]:
    kinds = {"", *(wanted.kind for wanted in job.wanted)}
    yield from (f"mended: {text}" for kind, text in _MENDED if kind in kinds)
    yield (
        "makedns -n writes all zones anew from /etc/hosts and the tables: records that somebody"
        " added to the name server by hand are lost"
    )


XCAT = Backend("xcat", questions, define, activate, _notes, pack, from_head=True)


def _ends(job: Draft) -> list[tuple[str, str]]:
    """Names and addresses of the ends whose suffix is known."""
    return [(f"{port.node}{wanted.suffix}", port.ip) for wanted, port in job.ports if wanted.suffix]


def _makehosts(job: Draft) -> Step:
    """What makehosts writes is not known beforehand; two copies show it to the undoing."""
    held = files.content(job, HEAD, _HOSTS)
    # The names of the copies; each plan has its own.
    told = repr((held, _ends(job), job.nodes)).encode(errors="replace")
    name = f"{_HOSTS}.fabricgauge-{hashlib.sha256(told).hexdigest()[:8]}"
    before, after = f"{name}-before", f"{name}-after"
    return Step(
        f"Write the names of all ends into {_HOSTS} of the head",
        "they are made of a node's name and the network's suffix",
        (
            _copied(_HOSTS, before),
            Command(HEAD, ("makehosts", ",".join(job.nodes))),
            _copied(_HOSTS, after),
        ),
        tuple(
            Verification(Command(HEAD, ("getent", "ahostsv4", name)), f"\n{ip} ")
            for name, ip in _ends(job)
        ),
        (
            files.taken_back(HEAD, _HOSTS, before, after),
            Command(HEAD, ("rm", "-f", "--", before, after)),
            Command(HEAD, ("makedns", "-n")),
        ),
        undo_note="what makehosts wrote is taken back; lines that were written since stay",
        before=(files.same(HEAD, _HOSTS, held),) if isinstance(held, str) else (),
        follows=True,
    )


def _copied(source: str, target: str) -> Command:
    return Command(HEAD, ("cp", "-p", "--", source, target))


def _makedns(job: Draft) -> Step:
    return Step(
        "Let the head's name server know the names",
        "nodes ask it; a new network needs zones of its own, so that all are written anew (-n)",
        (Command(HEAD, ("makedns", "-n")),),
        tuple(
            Verification(Command(HEAD, ("nslookup", name, "127.0.0.1")), f" {ip}\n")
            for name, ip in _ends(job)
        ),
        undo_note=f"written anew when {_HOSTS} is put back",
        follows=True,
    )


#: By the kind of network in whose section the guide has the slip; "" for both.
_MENDED = (
    ("ethernet", "the guide runs `make networks`; the command is makenetworks"),
    (
        "",
        "the guide defines one network with `-t network NAME`, the other with `-o NAME`, and nodes"
        " without a type; here every chdef says type and name (-t … -o …)",
    ),
    (
        "ethernet",
        "the guide runs makedns for its Omni-Path network only; here the name server learns the"
        " names of every network",
    ),
    (
        "omni-path",
        "the guide's ping has `-c` without a count, which ping refuses; here every ping has one,"
        " and neighbours ping each other both ways",
    ),
    (
        "omni-path",
        "the guide gives these ends no suffix, so that makehosts names them by the interface"
        " (c1-ib0); state one, and the plan verifies the names",
    ),
)

_OBJECT = re.compile(r"Object name: (\S+)")
_ATTRIBUTE = re.compile(r"    ([^=\s]+)=(.*)")


@lru_cache(maxsize=8)  # the same printout is asked for each of its nodes
def definitions(text: str) -> dict[str, dict[str, str]]:
    """Attributes by object; a line of any other form is left out."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in text.split("\n"):
        if match := _OBJECT.match(line):
            current = found.setdefault(match[1], {})
        elif match := _ATTRIBUTE.fullmatch(line.rstrip("\r")):
            current[match[1]] = match[2]
    return found
