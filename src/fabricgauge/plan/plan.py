"""Fabric and profile in, plan out: which launches, in which order."""

from typing import Any

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import THREADED_PATTERNS
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.plan.asked import asked
from fabricgauge.plan.cases import cases
from fabricgauge.plan.profiles import MIB, Profile
from fabricgauge.words.networks import loopback_of

#: Stands in for an unknown link rate when windows and budgets are chosen: 1 Gb/s.
ASSUMED_PAYLOAD_BYTES_PER_S = 117.69e6
LARGEST_MESSAGE_BYTES = 1024 * MIB


class Wanted(msgspec.Struct, frozen=True):
    """What the user asked for. ``place`` are the nodes of ranks 0 and 1.

    ``patterns`` are words of ``plan.asked``.
    """

    profile: Profile
    patterns: tuple[str, ...]
    sizes: tuple[int, ...]
    place: tuple[str, str]
    check_data: bool
    confidence: float = 0.95


def plan(wanted: Wanted, targets: tuple[tuple[Network | None, Ceiling | Skipped], ...]) -> Plan:
    """Launches interleaved over the targets, so that a drift touches all of them alike.

    A target is a network with its ceiling, or (None, …) for MPI's own choice.

    Raises:
        UsageError: no sizes, or a size out of range.
    """
    _require_sizes(wanted.sizes)
    pieces = [
        (target, words)
        for target in targets * wanted.profile.launches
        for words in apart(wanted.patterns)
    ]
    launches = tuple(
        _launch(number, msgspec.structs.replace(wanted, patterns=words), *target)
        for number, (target, words) in enumerate(pieces, start=1)
    )
    stopping = Stopping(wanted.profile.relative_half_width, wanted.confidence)
    return Plan(wanted.profile.name, stopping, wanted.check_data, launches)


def apart(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The patterns of each launch: those of threads have their own.

    The level of thread support that they need makes an MPI slower for everything else.
    """
    several = tuple(one for one in words if asked(one).pattern in THREADED_PATTERNS)
    plain = tuple(one for one in words if one not in several)
    return tuple(one for one in (plain, several) if one)


#: What makes a tournament's case that of one pair of ranks, 0 and 1.
_ONE_STREAM: dict[str, Any] = {
    "pattern": "bandwidth", "target": 1, "ranks": 0, "concurrent": 0, "rounds": (),
}  # fmt: skip


def host_reference(number: int, node: str, network: str | None, of: Plan) -> PlannedLaunch:
    """A launch that shows what MPI and one host do without a network, over TCP loopback.

    It repeats the largest streaming cases of the plan's first launch on ``node`` alone.
    """
    measured = next(launch for launch in of.launches if launch.network == network)
    streams = (
        msgspec.structs.replace(case, name=f"bandwidth/{case.message_bytes}/0>1", **_ONE_STREAM)
        for case in measured.cases
        if case.pattern in ("bandwidth", "all_pairs_bandwidth") and case.origin == 0
    )
    largest = sorted(streams, key=lambda case: case.message_bytes)[-3:]
    return PlannedLaunch(number, loopback_of(node), None, (node, node), tuple(largest))


def remaining(of: Plan, done: tuple[tuple[int, Measurement], ...]) -> tuple[PlannedLaunch, ...]:
    """The plan's launches with only those cases that have no result yet.

    ``done`` pairs launch numbers with measurements; only ``ok`` and ``skipped`` count.
    """
    finished = {(number, m.case) for number, m in done if m.status in ("ok", "skipped")}
    left = (
        msgspec.structs.replace(
            launch,
            cases=tuple(c for c in launch.cases if (launch.number, c.name) not in finished),
        )
        for launch in of.launches
    )
    return tuple(launch for launch in left if launch.cases)


def _launch(
    number: int, wanted: Wanted, network: Network | None, ceiling: Ceiling | Skipped
) -> PlannedLaunch:
    rate = (
        ASSUMED_PAYLOAD_BYTES_PER_S if isinstance(ceiling, Skipped) else ceiling.payload_bytes_per_s
    )
    sizes = tuple(dict.fromkeys(wanted.sizes))
    return PlannedLaunch(
        number=number,
        network=network.name if network else None,
        subnet=network.subnet if network else None,
        nodes=wanted.place,
        cases=cases(wanted.patterns, sizes, wanted.profile.case_budget_s, rate),
    )


def _require_sizes(sizes: tuple[int, ...]) -> None:
    if not sizes:
        raise UsageError("no message sizes to measure; name at least one, e.g. --sizes 0,8,1MiB")
    for size in sizes:
        if not 0 <= size <= LARGEST_MESSAGE_BYTES:
            raise UsageError(f"message size {size} B is out of range: 0 B to 1 GiB")
