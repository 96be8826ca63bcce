"""Would a firewall stop MPI's ports?"""

import ipaddress
from collections.abc import Iterator
from fnmatch import fnmatchcase

from fabricgauge.doctor.check import Check, found
from fabricgauge.doctor.places import Cluster, KnownNode, usual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import grouped

DROPPING = ("drop", "reject")

FIREWALLD = "service firewalld"

#: Why a node's rules are not known: the words of the survey.
UNREAD = "firewall unread"


def _known(cluster: Cluster) -> list[KnownNode]:
    return [seen for seen in cluster.nodes if seen.facts.keys() & {"firewall", FIREWALLD}]


def _because(cluster: Cluster) -> str:
    """With the reason that most nodes give."""
    common = usual(reason for seen in cluster.nodes if (reason := _unread(seen)))
    told = "" if isinstance(common, Skipped) else f": {common}"
    return f"no node could say its firewall's rules{told}"


def _firewalls(cluster: Cluster, known: list[KnownNode]) -> Iterator[Finding]:
    every = (one for network in cluster.networks for one in network.members)
    members = grouped(every, lambda one: one.node)
    for seen in known:
        yield from _look(seen, members.get(seen.name, ()))


def _unread(seen: KnownNode) -> str:
    reason = seen.fact(UNREAD)
    as_user = "failed" in reason and seen.facts.get("user id", "0") != "0"
    return reason + " (rules are root's to read)" * as_user


def _look(seen: KnownNode, members: tuple[Member, ...]) -> Iterator[Finding]:
    rules = seen.fact("firewall")
    firewalld = seen.fact(FIREWALLD).split()[-1:] == ["active"]
    dropping = any(word in rules.lower() for word in DROPPING)
    let_in = seen.fact("firewall lets in").split()
    shut = [member for member in members if not _let_in(member, let_in)]
    if not (dropping or (firewalld and not rules)) or (members and not shut):
        return
    told = [f"{seen.name}: {rules}"] * bool(rules) + [f"{seen.name}: firewalld runs"] * firewalld
    told += [f"{seen.name}: {_unread(seen)}"] * bool(not rules and _unread(seen))
    told += [f"{seen.name}: lets in {' '.join(let_in)}"] * bool(let_in)
    names = sorted({member.interface for member in shut})
    trust = ("--permanent", "--zone=trusted")
    words: list[tuple[str, ...]] = [(*trust, f"--change-interface={name}") for name in names]
    words += [("--reload",)] * bool(names)
    mends = [Command(seen.name, ("firewall-cmd", *some)) for some in words]
    if dropping:
        yield found(
            Severity.WARN, seen, "drops what it does not know", *told,
            remedy="trust the interfaces of the cluster's own networks, or let the range that MPI"
            " is told to use pass",
            mends=mends if firewalld else (),
        )  # fmt: skip
    else:
        yield found(
            Severity.NOTE, seen, "runs a firewall", *told,
            remedy="look at its rules as root (firewall-cmd --list-all-zones); they are not known"
            " here",
        )  # fmt: skip


def _let_in(member: Member, what: list[str]) -> bool:
    """Whether ``what`` has its address or interface; nft writes ``ib*``, iptables ``ib+``."""
    return any(
        fnmatchcase(member.interface, one.replace("+", "*")) or _inside(member.ip, one)
        for one in what
    )


def _inside(ip: str, subnet: str) -> bool:
    try:
        return ipaddress.ip_address(ip) in ipaddress.ip_network(subnet, strict=False)
    except ValueError:
        return False


FIREWALL = Check(
    "firewall",
    "No firewall stands between the nodes",
    "MPI listens on ports of the kernel's choice: what a firewall drops makes it hang at"
    " its start.",
    _known,
    _because,
    _firewalls,
)
