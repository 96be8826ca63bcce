"""Would a firewall stop MPI's ports?"""

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from fabricgauge.doctor.checks import Check, make_finding
from fabricgauge.doctor.places import Cluster, KnownNode, find_majority
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import group_by

DROPPING = ("drop", "reject")

FIREWALLD = "service firewalld"

#: The survey's fact for why a node's rules are unknown.
UNREAD = "firewall unread"


def _explain_unknown_rules(cluster: Cluster) -> str:
    """Give the reason of most nodes."""
    reasons = (_get_unread_reason(node) for node in cluster.nodes)
    common = find_majority(reason for reason in reasons if reason)
    detail = "" if isinstance(common, Skipped) else f": {common}"
    return f"the firewall's rules are unknown on every node{detail}"


def _examine_firewalls(cluster: Cluster, nodes: list[KnownNode]) -> Iterator[Finding]:
    members = (member for network in cluster.networks for member in network.members)
    by_node = group_by(members, lambda member: member.node)
    for node in nodes:
        yield from _examine_node(node, by_node.get(node.name, ()))


def _get_unread_reason(node: KnownNode) -> str:
    reason = node.get_fact(UNREAD)
    is_user = "failed" in reason and node.facts.get("user id", "0") != "0"
    return reason + " (only root may read the rules)" * is_user


def _examine_node(node: KnownNode, members: tuple[Member, ...]) -> Iterator[Finding]:
    rules = node.get_fact("firewall")
    runs_firewalld = node.get_fact(FIREWALLD).split()[-1:] == ["active"]
    is_dropping = any(word in rules.lower() for word in DROPPING)
    let_in = node.get_fact("firewall lets in").split()
    blocked = [member for member in members if not _is_let_in(member, let_in)]
    if not (is_dropping or (runs_firewalld and not rules)) or (members and not blocked):
        return
    unread_reason = _get_unread_reason(node)
    evidence = [f"{node.name}: {rules}"] * bool(rules)
    evidence += [f"{node.name}: firewalld runs"] * runs_firewalld
    evidence += [f"{node.name}: {unread_reason}"] * bool(not rules and unread_reason)
    evidence += [f"{node.name}: lets in {' '.join(let_in)}"] * bool(let_in)
    interfaces = sorted({member.interface for member in blocked})
    trust = ("firewall-cmd", "--permanent", "--zone=trusted")
    mends = [Command(node.name, (*trust, f"--change-interface={name}")) for name in interfaces]
    mends += [Command(node.name, ("firewall-cmd", "--reload"))] * bool(interfaces)
    if is_dropping:
        yield make_finding(
            Severity.WARN, node, "has a firewall that drops connections it has no rule for",
            *evidence,
            remedy="trust the interfaces of the cluster's networks, or let the ports pass that MPI"
            " is set to use",
            mends=mends if runs_firewalld else (),
        )  # fmt: skip
    else:
        yield make_finding(
            Severity.NOTE, node, "runs a firewall with unknown rules", *evidence,
            remedy="read its rules as root: firewall-cmd --list-all-zones",
        )  # fmt: skip


def _is_let_in(member: Member, let_in: list[str]) -> bool:
    """Check whether a rule names its address or interface; nft writes ``ib*``, iptables ``ib+``."""
    for source in let_in:
        if fnmatchcase(member.interface, source.replace("+", "*")):
            return True
        with suppress(ValueError):
            if ipaddress.ip_address(member.ip) in ipaddress.ip_network(source, strict=False):
                return True
    return False


FIREWALL = Check(
    "firewall",
    "No firewall stands between the nodes",
    "MPI listens on ports that the kernel chooses: if a firewall drops connections to them,"
    " MPI hangs at its start.",
    lambda cluster: [node for node in cluster.nodes if node.facts.keys() & {"firewall", FIREWALLD}],
    _explain_unknown_rules,
    _examine_firewalls,
)
