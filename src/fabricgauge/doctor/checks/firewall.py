"""Would a firewall stop MPI's ports?"""

import ipaddress
from collections.abc import Iterator
from fnmatch import fnmatchcase

from fabricgauge.doctor.places import Check, KnownNode, fault, nodes, usual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

DROPPING = ("drop", "reject")

FIREWALLD = "service firewalld"

#: Why a node's rules are not known: the words of the survey.
UNREAD = "firewall unread"


def look_at_firewall(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = nodes(preflight)
    known = [seen for seen in every if "firewall" in seen.facts or FIREWALLD in seen.facts]
    if not known:
        return Skipped(f"no node could say its firewall's rules{_because(every)}")
    members: dict[str, list[Member]] = {}
    for network in preflight.fabric.networks:
        for member in network.members:
            members.setdefault(member.node, []).append(member)
    return tuple(found for seen in known for found in _look(seen, members.get(seen.name, [])))


def _because(every: tuple[KnownNode, ...]) -> str:
    """The reason that most nodes give."""
    common = usual(reason for seen in every if (reason := _unread(seen)))
    return "" if isinstance(common, Skipped) else f": {common}"


def _unread(seen: KnownNode) -> str:
    reason = seen.facts.get(UNREAD, "")
    as_user = "failed" in reason and seen.facts.get("user id", "0") != "0"
    return reason + " (rules are root's to read)" * as_user


def _look(seen: KnownNode, members: list[Member]) -> Iterator[Finding]:
    rules = seen.facts.get("firewall", "")
    firewalld = seen.facts.get(FIREWALLD, "").split()[-1:] == ["active"]
    dropping = any(word in rules.lower() for word in DROPPING)
    let_in = seen.facts.get("firewall lets in", "").split()
    shut = [member for member in members if not _let_in(member, let_in)]
    if not (dropping or (firewalld and not rules)) or (members and not shut):
        return
    told = [f"{seen.name}: {rules}"] * bool(rules) + [f"{seen.name}: firewalld runs"] * firewalld
    told += [f"{seen.name}: {_unread(seen)}"] * bool(not rules and _unread(seen))
    told += [f"{seen.name}: lets in {' '.join(let_in)}"] * bool(let_in)
    names = sorted({member.interface for member in shut})
    mends = tuple(
        Command(
            seen.name,
            ("firewall-cmd", "--permanent", "--zone=trusted", f"--change-interface={name}"),
        )
        for name in names
    ) + ((Command(seen.name, ("firewall-cmd", "--reload")),) if names else ())
    what = "drops what it does not know" if dropping else "runs a firewall"
    yield fault(
        Severity.WARN if dropping else Severity.NOTE, seen.name, what, tuple(told),
        "trust the interfaces of the cluster's own networks, or let the range that MPI is told to"
        " use pass"
        if dropping
        else "look at its rules as root (firewall-cmd --list-all-zones); they are not known here",
        (seen.name,), "", mends if firewalld and dropping else (),
    )  # fmt: skip


def _let_in(member: Member, what: list[str]) -> bool:
    """By its interface's name, of which nft knows ``ib*`` and iptables ``ib+``, or by address."""
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
    look_at_firewall,
)
