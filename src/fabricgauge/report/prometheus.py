"""The key figures of a judged run for the textfile collector of Prometheus' node exporter.

Source: Prometheus, "Exposition formats", text format 0.0.4: label values escape backslash,
quote and line feed; a file with the same series twice is refused as a whole.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import NamedTuple

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.measurement import LATENCY_PATTERNS
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import fabric_gauges
from fabricgauge.report.conclusion import is_simulated, limit_bytes_s
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.sweep import pair_curves
from fabricgauge.report.visible import visible

Labels = Mapping[str, str]


class Sample(NamedTuple):
    """One series' value, in the metric's base unit."""

    labels: Labels
    value: float


class Metric(NamedTuple):
    """A gauge with its series."""

    name: str
    help: str
    samples: Iterable[Sample]


def render(judged: Judged, _setting: Setting) -> str:
    """All gauges; one without a series is left out."""
    return "".join(_written(metric) for metric in _metrics(judged))


def _metrics(judged: Judged) -> Iterator[Metric]:
    for name, said, samples in _GAUGES:
        yield Metric(name, said, samples(judged))


def _identity(judged: Judged) -> Iterator[Sample]:
    run = judged.run
    labels = {
        "run": run.identity, "profile": run.plan.profile, "rules_version": judged.rules_version,
        "version": run.environment.get("fabricgauge", ""), "mpi": run.environment.get("MPI", ""),
        "virtual": str(run.fabric.virtual).lower(),
        "simulated": str(is_simulated(judged)).lower(),
    }  # fmt: skip
    yield Sample(labels, 1)


def _time(utc: str) -> Iterator[Sample]:
    try:
        moment = datetime.strptime(utc, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return
    yield Sample({}, moment.timestamp())


def _overall(judged: Judged) -> Iterator[Sample]:
    for outcome in Outcome:
        yield Sample({"outcome": outcome.value}, float(outcome is judged.overall))


def _verdicts(judged: Judged) -> Iterator[Sample]:
    counts = Counter((one.network, one.rule, one.outcome) for one in judged.verdicts)
    for network, rule in dict.fromkeys((one.network, one.rule) for one in judged.verdicts):
        for outcome in Outcome:
            labels = {"network": network, "rule": rule, "outcome": outcome.value}
            yield Sample(labels, counts[network, rule, outcome])


def _ceilings(judged: Judged) -> Iterator[Sample]:
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Ceiling):
            yield Sample({"network": name}, ceiling.payload_bytes_per_s)


def _of_networks(judged: Judged) -> Iterator[Curve]:
    return (curve for curve in pair_curves(judged) if not is_reference(curve.network))


def _labels(curve: Curve) -> Labels:
    return {
        "network": named(curve.network), "pattern": curve.word,
        "origin": curve.origin_node, "target": curve.target_node,
    }  # fmt: skip


def _best(curve: Curve) -> float | None:
    return max((one.bandwidth.value for one in curve.points if one.bandwidth), default=None)


def _bandwidths(judged: Judged) -> Iterator[Sample]:
    for curve in _of_networks(judged):
        best = _best(curve)
        if best is not None:
            yield Sample(_labels(curve), best)


def _shares(judged: Judged) -> Iterator[Sample]:
    for curve in _of_networks(judged):
        best = _best(curve)
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        if best is not None and limit:
            yield Sample(_labels(curve), best / limit)


def _samples(labelled: Iterable[fabric_gauges.Labelled]) -> Iterator[Sample]:
    return (Sample(labels, float(value)) for labels, value in labelled)


def _latencies(judged: Judged) -> Iterator[Sample]:
    for curve in _of_networks(judged):
        if curve.pattern in LATENCY_PATTERNS and curve.points:
            yield Sample(_labels(curve), min(point.time.value for point in curve.points))


_GAUGES: tuple[tuple[str, str, Callable[[Judged], Iterator[Sample]]], ...] = (
    ("run_info", "The run that the figures are of.", _identity),
    (
        "run_timestamp_seconds",
        "When the run was started, since 1970-01-01 UTC.",
        lambda judged: _time(judged.run.started_utc),
    ),
    (
        "judged_timestamp_seconds",
        "When the run was judged, since 1970-01-01 UTC.",
        lambda judged: _time(judged.judged_utc),
    ),
    ("outcome", "1 for the outcome of the run, 0 for all others.", _overall),
    ("verdicts", "How many verdicts a rule gave on a network, by outcome.", _verdicts),
    (
        "ceiling_bytes_per_second",
        "The most payload that a network can carry per direction.",
        _ceilings,
    ),
    (
        "bandwidth_bytes_per_second",
        "Best median bandwidth; both directions add up in bidirectional_bandwidth.",
        _bandwidths,
    ),
    ("bandwidth_ceiling_ratio", "Best median bandwidth as a share of its ceiling.", _shares),
    (
        "latency_seconds",
        "Smallest median time: half a round trip, or one put with its flush.",
        _latencies,
    ),
    (
        "named_at_fault",
        "How many of a part are named at fault by all pairs.",
        lambda judged: _samples(fabric_gauges.named(judged)),
    ),
    (
        "pairs_latency_seconds",
        "Half round trip of the typical pair of nodes.",
        lambda judged: _samples(fabric_gauges.typical_s(judged)),
    ),
    (
        "pairs_bandwidth_bytes_per_second",
        "Bandwidth per direction of the typical pair of nodes.",
        lambda judged: _samples(fabric_gauges.typical_bytes_per_s(judged)),
    ),
    (
        "node_effect_ratio",
        "A node's standing against the typical node: -0.75 is a quarter of its figure.",
        lambda judged: _samples(fabric_gauges.node_effects(judged)),
    ),
)


def _written(metric: Metric) -> str:
    name = f"fabricgauge_{metric.name}"
    series = {_braced(one.labels): one.value for one in metric.samples if math.isfinite(one.value)}
    if not series:
        return ""
    head = f"# HELP {name} {metric.help}\n# TYPE {name} gauge\n"
    return head + "".join(f"{name}{labels} {value!r}\n" for labels, value in series.items())


def _braced(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace('"', '\\"')
