"""What each layer of a stack adds to the one that was named before it, at each size of each curve.

Medians over blocks, with the interval that two of their order statistics make, whatever the
figures' distribution is (Conover, Practical Nonparametric Statistics, section 3.2). Only what
crossed one wire is put in a ledger: else a difference is the wire's as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from fabricgauge.evidence.gathering import evidence
from fabricgauge.evidence.wires import wires
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.run import Run
from fabricgauge.model.varied import Column, Design, Factor, Layer
from fabricgauge.words.sentences import listed

#: Factors whose levels are layers: each carries the data of the one above it.
LAYERED = ("transport", "provider")
CONFIDENCE = 0.95

_NONE = "there is no ledger of layers, which must cross one wire"

Floats = NDArray[np.float64]


def layers(design: Design, columns: Sequence[Column], logs: Floats) -> tuple[Layer, ...]:
    """Of a design with such a factor alone; ``logs`` are logarithms, (arms, blocks, columns)."""
    if len(design.factors) != 1 or not _are_layers(design.factors[0]):
        return ()
    figures = np.exp(logs)
    return tuple(
        layer
        for place, column in enumerate(columns)
        for layer in _of_column(design, column, figures[..., place])
    )


def _are_layers(factor: Factor) -> bool:
    """Whether no two levels are one layer with other settings, as ``verbs:path-mtu=256`` is."""
    layers = {_layer_of(level) for level in factor.levels}
    return factor.name in LAYERED and len(layers) == len(factor.levels)


def _layer_of(level: str) -> tuple[str, ...]:
    """A transport without its settings, but with its provider."""
    name, _, settings = level.partition(":")
    return name, *(one for one in settings.split(",") if one.startswith("provider="))


def not_one_wire(design: Design, runs: Sequence[Run], *, by_name: bool) -> str:
    """Which arm's run crossed several wires, or another than the first one's; else empty.

    ``by_name`` is whether networks of one name are held against each other.
    """
    levels = [level for (level,) in design.arms]
    first: dict[tuple[str | None, str], frozenset[str]] = {}
    for level, run in zip(levels, runs, strict=True):
        for network, used in wires(run.fabric, evidence(run)).items():
            for node, here in used.items():
                base = first.setdefault((network if by_name else "", node), here)
                crossed = f"at {node} the bytes of {level} crossed {_words(here)}"
                if here != base:
                    return f"{_NONE}: {crossed}, those before it {_words(base)}"
                if len(here) != 1:
                    return f"{_NONE}: {crossed}"
    return ""


def _words(crossed: Iterable[str]) -> str:
    return listed(sorted(crossed)) or "no interface that counts"


def _of_column(design: Design, column: Column, figures: Floats) -> Iterator[Layer]:
    """From the lowest layer up; ``figures`` are (arms, blocks)."""
    for arm, level in enumerate(design.factors[0].levels):
        figure = median(figures[arm])
        added = median(figures[arm] - figures[arm - 1]) if arm else None
        if figure:
            yield Layer(column.title, column.quantity, column.message_bytes, level, figure, added)


def median(figures: Floats) -> Estimate | None:
    """Of those that are known; None where there are none."""
    known = np.sort(figures[np.isfinite(figures)])
    if not known.size:
        return None
    outside, confidence = _rank(known.size)
    ends = float(known[outside]), float(known[-1 - outside])
    return Estimate(float(np.median(known)), *ends, confidence, known.size, known.size)


def _rank(count: int) -> tuple[int, float]:
    """How many figures lie outside of the interval at each end, and how sure that is."""
    tails = np.cumsum([comb(count, k) / (1 << count) for k in range(count)])
    fine = np.flatnonzero(1.0 - 2.0 * tails >= CONFIDENCE)
    outside = int(fine[-1]) if fine.size else 0
    return outside, float(1.0 - 2.0 * tails[outside])
