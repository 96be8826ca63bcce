"""Define the thresholds of the rules: built-in values with their origin, and a site's values."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.model.tables import read_table


class Limit(msgspec.Struct, frozen=True):
    """One threshold; ``unit`` is "share" (0 to 1), "s", "bytes", "segments" or "times"."""

    value: float
    unit: str
    origin: str


#: Below this share of the payload, counters "did not move": the bytes took another path.
MOVED_AT_ALL = 0.5

#: So many tables of a log with one heading are judged one by one; with more of them, the log is a
#: campaign: it is judged as a family. An archive of single runs has fewer.
FOLD_FROM = 500


def _read_built_in() -> Iterator[tuple[str, Limit]]:
    for name, text, unit, why in read_table(Path(__file__).with_suffix(".tsv"), 4):
        value = SUSTAINED_BYTES if text == "SUSTAINED_BYTES" else msgspec.json.decode(text)
        yield name, Limit(value, unit, f"built-in: {why}")


BUILT_IN = dict(_read_built_in())


class Thresholds(msgspec.Struct, frozen=True):
    """All limits by name, e.g. ``fraction.pass``."""

    limits: dict[str, Limit]

    def value(self, name: str) -> float:
        return self.limits[name].value


DEFAULTS = Thresholds(BUILT_IN)


def thresholds_from(mapping: Mapping[str, object], origin: str) -> Thresholds:
    """Return the built-in thresholds, replaced by those of ``mapping``.

    Verdicts quote ``origin``, the file or option that set them.

    Raises:
        UsageError: an unknown name, or a value that is not a number of 0 or more.
    """
    limits = dict(BUILT_IN)
    for name, value in mapping.items():
        if name not in limits:
            known = ", ".join(sorted(limits))
            raise UsageError(f"{origin}: unknown threshold {name!r}; known thresholds: {known}")
        limits[name] = Limit(_number(name, value, origin), limits[name].unit, f"set by {origin}")
    for lower, upper in (
        ("fraction.warn", "fraction.pass"),
        ("fraction.both_warn", "fraction.both_pass"),
        ("fraction.both_warn", "fraction.slingshot_both_pass"),
        ("fraction.bus_warn", "fraction.bus_pass"),
        ("fraction.gpu_warn", "fraction.gpu_pass"),
        ("fraction.gpu_like_fail", "fraction.gpu_like"),
        ("asymmetry.warn", "asymmetry.fail"),
        ("errors.share", "errors.fail"),
        ("stability.stalls", "stability.stalls_fail"),
    ):
        if limits[lower].value > limits[upper].value:
            raise UsageError(
                f"{origin}: {lower} ({limits[lower].value:g}) must not be above"
                f" {upper} ({limits[upper].value:g})"
            )
    return Thresholds(limits)


def _number(name: str, value: object, origin: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise UsageError(f"{origin}: {name} must be a number of 0 or more, not {value!r}")
