"""The few cases of a quick check feed the same rules as every size, with the same outcomes."""

from collections.abc import Callable

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.check.plan.profiles import DEFAULT_SIZES, PATTERNS, PROFILES
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import SUSTAINED_BYTES, Pattern
from fabricgauge.model.verdict import Outcome, Verdict

Plant = Callable[[Pattern, int, int], Measurement]


def sound(pattern: Pattern, size: int, origin: int) -> Measurement:
    return planted.measurement(
        planted.Sample(pattern, size, origin, planted.median_s(pattern, size))
    )


def slow_link(pattern: Pattern, size: int, origin: int) -> Measurement:
    return planted.measurement(
        planted.Sample(pattern, size, origin, planted.median_s(pattern, size, 0.4))
    )


def slow_back(pattern: Pattern, size: int, origin: int) -> Measurement:
    return (slow_link if origin == 1 else sound)(pattern, size, origin)


def far(pattern: Pattern, size: int, origin: int) -> Measurement:
    time_s = planted.median_s(pattern, size) + 1.5e-3
    return planted.measurement(planted.Sample(pattern, size, origin, time_s))


def other_interface(pattern: Pattern, size: int, origin: int) -> Measurement:
    time_s = planted.median_s(pattern, size)
    return planted.measurement(
        planted.Sample(pattern, size, origin, time_s), split={"eth0": 0.0, "eth1": 1.0}
    )


def cache(pattern: Pattern, size: int, origin: int) -> Measurement:
    """Half of the rate from 1 MiB on: messages that outgrow a cache."""
    two_sided = not pattern.startswith("put")  # a quick check has one size of MPI_Put
    return (slow_link if two_sided and size >= 1 << 20 else sound)(pattern, size, origin)


def judged(plant: Plant, *, few: bool) -> tuple[Verdict, ...]:
    rows = PROFILES["quick"].pair_sizes
    cases = [(row.pattern, size, 0) for row in rows for size in row.sizes]
    cases += [(row.pattern, size, 1) for row in rows for size in row.back]
    if not few:
        cases = [(pattern, size, 0) for pattern in PATTERNS for size in DEFAULT_SIZES]
        cases += [("bandwidth", size, 1) for size in DEFAULT_SIZES if size >= SUSTAINED_BYTES]
    measured = [
        plant(pattern, size, origin)
        for pattern, size, origin in cases
        if size or pattern == "latency"
    ]
    run = planted.run((planted.launch(measured),))
    network = msgspec.structs.replace(run.fabric, networks=run.fabric.networks[:1])
    return planted.verdicts(msgspec.structs.replace(run, fabric=network))


def by_rule(verdicts: tuple[Verdict, ...]) -> dict[str, Outcome]:
    worst: dict[str, Outcome] = {}
    for verdict in verdicts:
        known = worst.get(verdict.rule, verdict.outcome)
        worst[verdict.rule] = min(known, verdict.outcome, key=lambda outcome: outcome.rank)
    return worst


@pytest.mark.parametrize(
    ("plant", "rule", "outcome"),
    [
        (sound, "fraction", Outcome.PASS),
        (slow_link, "fraction", Outcome.FAIL),
        (slow_back, "asymmetry", Outcome.FAIL),
        (far, "latency", Outcome.FAIL),
        (other_interface, "path", Outcome.INVALID),
        (cache, "cache-shape", Outcome.WARN),
    ],
)
def test_few_cases_decide_as_every_size_does(plant: Plant, rule: str, outcome: Outcome) -> None:
    few, every = by_rule(judged(plant, few=True)), by_rule(judged(plant, few=False))
    assert few[rule] is outcome
    assert few == every
