"""Learn thresholds from a site's passed runs, for files of configuration.

A learned limit is the one that a sound run misses with the stated chance: the order statistic of
the figures of passed verdicts (Wilks, Ann. Math. Statist. 12 (1941)). It needs enough figures; with
fewer, the built-in threshold stays.
"""

import json
import math
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.features.history.values import Share

#: Thresholds that a site's figures can set, and if a sound figure is at least as large.
LEARNED = {
    **dict.fromkeys(
        ("fraction.pass", "fraction.both_pass", "fraction.bus_pass", "fraction.gpu_pass"), True
    ),
    **dict.fromkeys(
        ("latency.tcp", "latency.rdma", "latency.iwarp", "latency.slingshot", "latency.efa"), False
    ),
}
#: The soft band's threshold below each learned one.
SOFT = {name: name.replace("pass", "warn") for name in LEARNED if name.endswith("pass")}


class Learned(msgspec.Struct, frozen=True):
    """A threshold: ``figures`` sound ones gave it, of which ``missed`` would miss it."""

    name: str
    value: float
    figures: int
    missed: int


def fewest_figures(chance: float) -> int:
    """Return how many figures are needed for a limit that one of 1 / ``chance`` runs misses."""
    return math.ceil(1 / chance)


def learn(shares: Iterable[Share], chance: float) -> tuple[tuple[Learned, ...], dict[str, int]]:
    """Return the learned thresholds, and the number of figures of those with too few.

    ``chance`` is the share of sound figures that may miss the limit.
    """
    figures: dict[str, list[float]] = {}
    for share in shares:
        if share.threshold in LEARNED and share.outcome == "PASS" and share.value > 0:
            figures.setdefault(share.threshold, []).append(share.value)
    learned: list[Learned] = []
    short: dict[str, int] = {}
    for name, values in sorted(figures.items()):
        if len(values) < fewest_figures(chance):
            short[name] = len(values)
            continue
        learned += _limits(name, values, chance)
    return tuple(learned), short


def _limits(name: str, values: Sequence[float], chance: float) -> list[Learned]:
    """Return the limit of a threshold, and the soft band as far below it as the figures reach."""
    at_least = LEARNED[name]
    ordered = sorted(values) if at_least else sorted(values, reverse=True)
    missed = max(0, math.floor(chance * (len(ordered) + 1)) - 1)
    limit, middle = ordered[missed], ordered[len(ordered) // 2]
    limits = [Learned(name, limit, len(values), missed)]
    if name in SOFT:
        band = max(0.01, middle - limit)
        limits.append(Learned(SOFT[name], max(0.0, limit - band), len(values), 0))
    return limits


def write_toml(learned: Sequence[Learned], origin: str) -> str:
    """Return a table for a configuration file; verdicts quote ``origin``."""
    kept = "".join(sign for sign in origin if sign.isprintable())
    lines = ["[thresholds]", f"origin = {json.dumps(kept, ensure_ascii=False)}"]
    lines += [f'"{limit.name}" = {limit.value:.6g}' for limit in learned]
    return "\n".join(lines) + "\n"
