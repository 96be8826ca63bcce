"""What a check is, and what it finds."""

from collections.abc import Callable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight


class Check(msgspec.Struct, frozen=True):
    """One check; ``id`` is that of its section in the docs.

    ``title`` says what is so on a sound cluster, ``why`` what it does to the figures where it
    isn't. ``look`` gives one finding for each place that is not as it should be; places that
    share a sentence are put together later. ``Skipped`` where there was nothing to look at.
    """

    id: str
    title: str
    why: str
    look: Callable[[Preflight], tuple[Finding, ...] | Skipped]


def fault(
    severity: Severity,
    where: str,
    what: str,
    evidence: tuple[str, ...],
    remedy: str,
    nodes: tuple[str, ...] = (),
    network: str = "",
    mends: tuple[Command, ...] = (),
    affects: tuple[str, ...] = (),
    why: str = "",
) -> Finding:
    """A finding of the check that looks; ``why`` where it is not the check's own."""
    return Finding("", severity, where, what, evidence, why, remedy, nodes, network, mends, affects)
