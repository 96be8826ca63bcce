"""The findings of a preflight: faults and risks with their evidence and remedy."""

from enum import Enum

import msgspec

from fabricgauge.model.absence import Skipped


class Severity(str, Enum):
    """``FAIL`` breaks the network or its figures, ``WARN`` may, ``NOTE`` is worth knowing."""

    FAIL = "FAIL"
    WARN = "WARN"
    NOTE = "NOTE"

    __str__ = str.__str__  # as StrEnum, which Python 3.10 lacks


class Command(msgspec.Struct, frozen=True):
    """An argv list to run on ``node`` (empty: the head), with its standard input."""

    node: str
    argv: tuple[str, ...]
    stdin: str = ""


#: The check that nodes can connect to each other.
CONNECT = "connect"
#: The start of an evidence line that names a consequence: another check's finding.
THEREFORE = "therefore "


class Finding(msgspec.Struct, frozen=True):
    """One fault or risk.

    ``where`` is the faulty part (``c2:eth0``, ``c2``, a network's name); ``nodes`` are the nodes to
    repair. ``evidence`` are lines that a reader can look up. ``why`` is its effect on the figures,
    ``remedy`` the repair; ``mends`` are commands for the repair, if they are known and need no
    choice. ``affects`` are other nodes that it may disturb.
    """

    check: str
    severity: Severity
    where: str
    what: str
    evidence: tuple[str, ...]
    why: str
    remedy: str
    nodes: tuple[str, ...] = ()
    network: str = ""
    mends: tuple[Command, ...] = ()
    affects: tuple[str, ...] = ()

    @property
    def carries_nothing(self) -> bool:
        """True if nodes cannot connect, or if this is the more basic fault behind that.

        A node that starts late, or whose program did not start, may connect to all other nodes.
        """
        consequence = f"{THEREFORE}{CONNECT}:"
        is_connect_failure = self.check == CONNECT and self.severity is Severity.FAIL
        return is_connect_failure or any(line.startswith(consequence) for line in self.evidence)


class Checked(msgspec.Struct, frozen=True):
    """One check and its findings; ``skipped`` is the reason why it could not run."""

    check: str
    title: str
    findings: tuple[Finding, ...]
    skipped: Skipped | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """The result of a preflight.

    ``checked`` are the checks in their order, ``nodes`` the nodes that answered, ``networks`` the
    networks that were examined. Counters were watched for ``seconds``. ``untried`` are the reasons
    for trials that could not run, by trial. ``virtual`` nodes share one machine. ``unread`` are
    files that no reader understands; ``troubles`` are, by node, sentences on unreadable parts of
    its answer.
    """

    checked: tuple[Checked, ...]
    nodes: tuple[str, ...]
    networks: tuple[str, ...]
    seconds: float
    untried: dict[str, str]
    virtual: bool = False
    unread: tuple[str, ...] = ()
    troubles: dict[str, tuple[str, ...]] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, worst first."""
        order = list(Severity)
        findings = [finding for check in self.checked for finding in check.findings]
        return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))
