"""Curves of what many ranks did together, in the form that other suites' results have."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Measurement, Pattern
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, CROWD_PATTERNS
from fabricgauge.model.run import Run
from fabricgauge.model.suite import Quantity, SuiteCurve, SuitePoint
from fabricgauge.stats.launches import Observed, bandwidth_estimate, time_estimate, usable_of
from fabricgauge.words.networks import OWN_CHOICE
from fabricgauge.words.patterns import words_of

SUITE = "fabricgauge"
UNIT_RULE = "seconds and bytes, as the engine writes them"

_WITHOUT_SIZE = frozenset({"barrier", "ibarrier"})


class _Key(NamedTuple):
    network: str | None
    pattern: Pattern
    ranks: int
    pairs: int
    load: str


def crowd_curves(run: Run) -> Iterator[SuiteCurve]:
    """One curve per network, pattern, number of ranks and of pairs, and load.

    Times are those of one operation, the slowest rank's; of streams the payload of one pair in
    one direction.
    """
    found: dict[_Key, dict[int, list[Observed]]] = {}
    for launch in run.launches:
        for one in usable_of(launch.number, launch.measurements):
            if one.measurement is not None and launch.purpose == "measure":
                key = _key(launch.network, one.measurement)
                if key is not None:
                    size = found.setdefault(key, {}).setdefault(one.measurement.message_bytes, [])
                    size.append(one)
    for key, sizes in found.items():
        yield _curve(key, sizes, run.identity)


def _key(network: str | None, case: Measurement) -> _Key | None:
    if case.together is None or case.pattern not in (*COLLECTIVE_PATTERNS, *CROWD_PATTERNS):
        return None
    return _Key(network, case.pattern, case.together.ranks, case.together.pairs, case.load)


def _curve(key: _Key, sizes: dict[int, list[Observed]], source: str) -> SuiteCurve:
    words = words_of(key.pattern)
    what, quantity = words.sentence, words.quantity
    load = {} if key.load == "none" else {"load": key.load}
    told = f", {key.load.replace('_', ' ')}" if load else ""
    return SuiteCurve(
        suite=SUITE,
        version="",
        benchmark=key.pattern,
        title=f"{what}, {key.ranks} ranks{told}",
        what=what,
        quantity=quantity,
        statistic="median",
        unit_rule=UNIT_RULE,
        first_line=0,
        last_line=0,
        points=tuple(_points(key, quantity, sizes)),
        pattern=key.pattern,
        pairs=key.pairs or 1,
        ranks=key.ranks,
        settings={"network": key.network or OWN_CHOICE, **load},
        source=source,
    )


def _points(
    key: _Key, quantity: Quantity, sizes: dict[int, list[Observed]]
) -> Iterator[SuitePoint]:
    for size in sorted(sizes):
        known = None if key.pattern in _WITHOUT_SIZE else size
        yield SuitePoint(known, _estimate(quantity, sizes[size]), 0)


def _estimate(quantity: Quantity, observed: Sequence[Observed]) -> Estimate:
    return time_estimate(observed) if quantity == "time" else bandwidth_estimate(observed)
