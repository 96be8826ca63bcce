"""What a preflight check found: a fault or a risk, with its evidence and its remedy."""

from enum import StrEnum

import msgspec

from fabricgauge.model.absence import Skipped


class Severity(StrEnum):
    """``FAIL`` breaks the network or its figures, ``WARN`` may, ``NOTE`` is worth knowing."""

    FAIL = "FAIL"
    WARN = "WARN"
    NOTE = "NOTE"


class Command(msgspec.Struct, frozen=True):
    """An argv list to be run on ``node``, empty for the head; ``stdin`` is what it reads."""

    node: str
    argv: tuple[str, ...]
    stdin: str = ""


#: The check whether nodes can connect to each other.
CONNECT = "connect"
#: Begins a line of evidence on what follows from a finding: another check's finding.
THEREFORE = "therefore "


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong.

    ``where`` is what is at fault (``c2:eth0``, ``c2``, a network's name); ``nodes`` the nodes
    that a reader must touch. ``evidence`` are lines that can be looked up. ``why`` says what
    it does to the figures; ``remedy`` what to do; ``mends`` the commands that do it, where
    they are known and need no choice. ``affects`` are other nodes at which it may show.
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
        """Whether it is that nodes cannot connect, or the more basic fault that explains it.

        A node that starts late, or whose program did not start, may connect to all others.
        """
        follows = f"{THEREFORE}{CONNECT}:"
        is_of_connections = self.check == CONNECT and self.severity is Severity.FAIL
        return is_of_connections or any(line.startswith(follows) for line in self.evidence)


class Checked(msgspec.Struct, frozen=True):
    """One check and what came of it; ``skipped`` says why it could not look."""

    check: str
    title: str
    findings: tuple[Finding, ...]
    skipped: Skipped | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """All that a preflight came to.

    ``checked`` are the checks in their order; ``nodes`` those that answered, ``networks`` those
    that were looked at. Counters were watched for ``seconds``. ``untried`` says why something
    could not be tried, by what it was. ``virtual`` nodes share one machine. ``unread`` are files
    that nothing reads, ``troubles`` by node sentences on what could not be read of its answer.
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
        every = [finding for one in self.checked for finding in one.findings]
        return tuple(sorted(every, key=lambda finding: order.index(finding.severity)))
