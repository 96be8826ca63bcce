"""Configure by xCAT: networks, nics of each node, names, and updates without a restart.

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

from fabricgauge.features.configure import files, lifeline, links
from fabricgauge.features.configure.backends.ip import flush_address, port_checks
from fabricgauge.features.configure.description import Image
from fabricgauge.features.configure.image import packed_check
from fabricgauge.features.configure.job import (
    HEAD,
    Backend,
    Draft,
    Step,
    Verification,
    WantedNetwork,
    WantedPort,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

_TYPES = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "omni-path": "InfiniBand"}
_NIC_ATTRIBUTES = ("nicips", "nicnetworks", "nictypes", "nichostnamesuffixes")
_POSTSCRIPT = "confignetwork"
_NETWORKS = Command(HEAD, ("lsdef", "-t", "network", "-l"))
_HOSTS = "/etc/hosts"


def questions(job: Draft) -> Iterator[Command]:
    """Ask for the present tables, for all nodes at once."""
    yield _NETWORKS
    yield _nics(job.nodes)
    yield _lsdef("node", job.nodes, "postscripts")
    yield from files.questions(HEAD, _HOSTS)


def define(job: Draft) -> Iterator[Step]:
    """Yield the steps for tables, then for the names that xCAT derives from them."""
    for network in job.wanted:
        yield _network_step(job, network)
    yield Step(
        "Define the networks that the head itself is in",
        "names of nodes in these networks would be left out otherwise",
        (Command(HEAD, ("makenetworks",)),),
        undo_note="it only adds the head's networks; rmdef -t network removes one",
        follows=True,
    )
    yield from (_nic_step(job, network, port) for network, port in job.ports)
    yield _makehosts_step(job)  # makedns reads the hosts file
    yield Step(
        "Let the head's name server know the names",
        "nodes ask it; a new network needs its own zones, so that all are written anew (-n)",
        (Command(HEAD, ("makedns", "-n")),),
        tuple(
            Verification(Command(HEAD, ("nslookup", name, "127.0.0.1")), f" {ip}\n")
            for name, ip in _named_ends(job)
        ),
        undo_note=f"written anew when {_HOSTS} is put back",
        follows=True,
    )
    yield from _confignetwork_step(job)


def activate(job: Draft) -> Iterator[Step]:
    """Run the postscript on the running nodes. It always needs consent.

    Its -s changes the interface that a node was installed by, by which it is mostly reached.
    """
    nodes = ",".join(job.nodes)
    port_links = [(port, links.link_of(job, port)) for _, port in job.ports]
    new = [
        port
        for port, link in port_links
        if isinstance(link, Skipped) or all(address.ip != port.ip for address in link.ipv4)
    ]
    step = Step(
        "Configure the interfaces of the running nodes, without a restart",
        f"{_POSTSCRIPT} reads the defined nics; its -s also configures the interface that the nodes"
        " were installed by anew, by which they are mostly reached",
        (Command(HEAD, ("updatenode", nodes, "-P", f"{_POSTSCRIPT} -s")),),
        tuple(check for network, port in job.ports for check in port_checks(network, port)),
        tuple(flush_address(port) for port in new),
        undo_note=f"files that {_POSTSCRIPT} wrote on a node's disk stay",
        consent=lifeline.CONSENT,
    )
    for _, port in job.ports:
        step = lifeline.with_consent(job, port, step)
    yield step


def pack(job: Draft, image: Image) -> Iterator[Step]:
    """Pack the image; packimage puts its archive next to the image's root directory.

    Raises:
        UsageError: the image has no name.
    """
    if not image.osimage:
        raise UsageError(
            f"{job.description.origin}: [image] needs osimage, the name that lsdef -t osimage shows"
        )
    place = str(PurePosixPath(image.root).parent)
    packed_image = packed_check(image, (place, "-maxdepth", "1", "-name", "rootimg.*"))
    yield Step(
        f"Pack the image {image.osimage}",
        "nodes load the packed image when they start",
        (Command(HEAD, ("packimage", image.osimage)),),
        (packed_image,),
        undo_note="pack it again once its changes are undone",
        follows=True,
    )


def _network_step(job: Draft, network: WantedNetwork) -> Step:
    name = _require_plain(network.name, "network")
    subnet = ipaddress.IPv4Network(network.subnet)
    values = {"net": str(subnet.network_address), "mask": str(subnet.netmask)}
    if not isinstance(network.mtu_bytes, Skipped):
        values["mtu"] = str(network.mtu_bytes)
    held = _present_values(job, _NETWORKS, name)
    if held.get("net", values["net"]) != values["net"]:
        raise UsageError(
            f"{job.description.origin}: xCAT has a network {name} of {held['net']} already, not of"
            f" {values['net']}; give this network another name, or remove that one"
        )
    remove = Command(HEAD, ("rmdef", "-t", "network", "-o", name))
    return _definition_step(
        job, ("network", name), values, _NETWORKS, _lsdef("network", (name,), *values),
        f"Define the network {name} ({subnet})",
        "nics and names refer to it, and makedns leaves out names in no defined network",
        () if held else (remove,),
    )  # fmt: skip


#: Without separators of xCAT's tables, and no option.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,62}")


def _require_plain(name: str, kind: str) -> str:
    """Return the name."""
    if not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{kind} {name!r:.80} cannot be written for xCAT: it has special characters;"
            " use the backend ip, or give it another name"
        )
    return name


def _definition_step(
    job: Draft,
    named: tuple[str, str],
    values: dict[str, str],
    question: Command,
    shown: Command,
    title: str,
    reason: str,
    undo: tuple[Command, ...] = (),
) -> Step:
    """Return the step that gives an object, by its kind and name, these values.

    The undoing restores the values that ``question`` printed. ``shown`` prints the object.
    """
    kind, name = named
    held = _present_values(job, question, name)
    evidence = f"xCAT has of {name}: " + " ".join(f"{key}={held.get(key)}" for key in values)
    return Step(
        title,
        reason,
        (_chdef(kind, name, values),),
        tuple(Verification(shown, f"{key}={value}\n") for key, value in values.items()),
        undo or (_chdef(kind, name, {key: held.get(key, "") for key in values}),),
        undo_note=_unknown_note(job, question),
        fulfilled=evidence if held.items() >= values.items() else "",
    )


def _nic_step(job: Draft, network: WantedNetwork, port: WantedPort) -> Step:
    if "." in network.suffix:
        raise UsageError(
            f"{job.description.origin}: xCAT takes no suffix with a dot, and {network.name} has"
            f" {network.suffix}; write it without"
        )
    node, interface = port.node, _require_plain(port.interface, "interface")
    nic_values = (port.ip, network.name, _TYPES[network.kind], network.suffix)
    values = {
        f"{attribute}.{interface}": value
        for attribute, value in zip(_NIC_ATTRIBUTES, nic_values, strict=True)
        if value
    }
    present = _present_values(job, _nics(job.nodes), node)
    replaced = [
        f"{key}={present[key]}" for key, value in values.items() if present.get(key, value) != value
    ]
    # A reviewer should see what it replaces.
    replacement = f"; xCAT has {' '.join(replaced)}" if replaced else ""
    lifeline.require_only_address(job, port, "xCAT")
    step = _definition_step(
        job, ("node", node), values, _nics(job.nodes), _nics((node,)),
        f"Give {node} the address {port.ip} on {interface} in {network.name}",
        f"{interface} is the name that {node} itself has for the adapter{replacement}",
    )  # fmt: skip
    return lifeline.with_consent(job, port, step)


def _confignetwork_step(job: Draft) -> Iterator[Step]:
    """Add the postscript to the nodes without it; -p appends it."""
    question = _lsdef("node", job.nodes, "postscripts")
    without = []
    for node in job.nodes:
        scripts = _present_values(job, question, node).get("postscripts", "").split(",")
        # With or without options: ``confignetwork -s``.
        if all(script.split()[:1] != [_POSTSCRIPT] for script in scripts):
            without.append(node)
    lacking = ",".join(without)
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
        undo_note=_unknown_note(job, question),
        fulfilled="" if lacking else f"{chosen} have {_POSTSCRIPT} among their postscripts",
    )


def _lsdef(kind: str, names: Sequence[str], *attributes: str) -> Command:
    return Command(HEAD, ("lsdef", "-t", kind, "-o", ",".join(names), "-i", ",".join(attributes)))


def _nics(nodes: Sequence[str]) -> Command:
    return _lsdef("node", nodes, *_NIC_ATTRIBUTES)


def _chdef(kind: str, name: str, values: dict[str, str]) -> Command:
    words = (f"{key}={value}" for key, value in values.items())
    return Command(HEAD, ("chdef", "-t", kind, "-o", name, *words))


def _present_values(job: Draft, question: Command, name: str) -> dict[str, str]:
    return definitions(job.output(question)).get(name, {})


def _unknown_note(job: Draft, question: Command) -> str:
    if isinstance(job.reply(question), Skipped):
        return "xCAT's present values were not asked, so that the undoing does not restore them"
    return ""


def _notes(job: Draft) -> Iterator[str]:
    kinds = {"", *(network.kind for network in job.wanted)}
    yield from (f"mended: {text}" for kind, text in _GUIDE_ERRORS if kind in kinds)
    yield (
        "makedns -n writes all zones anew from /etc/hosts and the tables: records that were added"
        " to the name server by hand are lost"
    )


XCAT = Backend("xcat", questions, define, activate, _notes, pack, from_head=True)


def _named_ends(job: Draft) -> list[tuple[str, str]]:
    return [
        (f"{port.node}{network.suffix}", port.ip) for network, port in job.ports if network.suffix
    ]


def _makehosts_step(job: Draft) -> Step:
    """Return the step; its undoing compares two copies, since makehosts' changes are not known."""
    held = files.content(job, HEAD, _HOSTS)
    # Each plan has its own copies.
    identity = repr((held, _named_ends(job), job.nodes)).encode(errors="replace")
    name = f"{_HOSTS}.fabricgauge-{hashlib.sha256(identity).hexdigest()[:8]}"
    before, after = f"{name}-before", f"{name}-after"
    return Step(
        f"Write the names of all ends into {_HOSTS} of the head",
        "a name is a node's name and the network's suffix",
        (
            Command(HEAD, ("cp", "-p", "--", _HOSTS, before)),
            Command(HEAD, ("makehosts", ",".join(job.nodes))),
            Command(HEAD, ("cp", "-p", "--", _HOSTS, after)),
        ),
        tuple(
            Verification(Command(HEAD, ("getent", "ahostsv4", name)), f"\n{ip} ")
            for name, ip in _named_ends(job)
        ),
        (
            files.revert_command(HEAD, _HOSTS, before, after),
            Command(HEAD, ("rm", "-f", "--", before, after)),
            Command(HEAD, ("makedns", "-n")),
        ),
        undo_note="the lines of makehosts are removed; lines that were written since stay",
        before=(files.same_content(HEAD, _HOSTS, held),) if isinstance(held, str) else (),
        follows=True,
    )


#: Errors of the guide, by the kind of network in whose section they are; "" for both.
_GUIDE_ERRORS = (
    ("ethernet", "the guide runs `make networks`; the command is makenetworks"),
    (
        "",
        "the guide defines one network with `-t network NAME`, the other with `-o NAME`, and nodes"
        " without a type; here every chdef has type and name (-t … -o …)",
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


@lru_cache(maxsize=8)  # one printout has all nodes
def definitions(text: str) -> dict[str, dict[str, str]]:
    """Parse attributes by object; a line of any other form is left out."""
    attributes: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in text.split("\n"):
        if match := _OBJECT.match(line):
            current = attributes.setdefault(match[1], {})
        elif match := _ATTRIBUTE.fullmatch(line.rstrip("\r")):
            current[match[1]] = match[2]
    return attributes
