"""Two curves side by side, in words and in pictures: changes with their direction."""

from collections.abc import Sequence
from statistics import median

from fabricgauge.model.comparison import Difference, Pair, Standing
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity, SuiteCurve
from fabricgauge.report.content.suites import SHOWN, suite_marks
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    canvas_text,
    level,
    position,
    shortened,
)
from fabricgauge.words.figures import digits, megabytes_per_s, microseconds, size, times
from fabricgauge.words.sentences import counted as number_of

STANDINGS: dict[Standing, str] = {
    "worse": "worse",
    "better": "better",
    "within": "within",
    "open": "not decided",
}

NO_INTERVAL = "no interval"
INTERVALS = (
    "The interval of a change is conservative: B's lower end over A's upper end, and the reverse."
)

#: A plot of changes is at least this many times as high as its tolerance band, in percent
#: at least that; what is farther off is drawn at the edge (its tooltip has the figure).
BANDS = 2.5
LEAST_SPAN, LARGEST_SPAN = 5.0, 400.0
LONGEST_NAME = 48


def title(pair: Pair) -> str:
    """What was compared: the figure, its direction, and between which hosts."""
    return " / ".join(dict.fromkeys((described(pair.a), described(pair.b))))


def described(curve: SuiteCurve) -> str:
    """A curve by suite, benchmark and what one figure is."""
    sign = " ↔ " if curve.directions == 2 else " → "
    between = sign.join(curve.hosts[:2]) + (" …" if len(curve.hosts) > 2 else "")
    hosts = f", {between}" if len(curve.hosts) > 1 else ""
    pairs = f", {curve.pairs} pairs" if curve.pairs > 1 else ""
    network = curve.settings.get("network", "")
    where = f" over {network}" if network else ""
    name = "" if curve.suite == "fabricgauge" else f"{curve.suite} "
    return f"{name}{curve.benchmark} ({curve.what}{pairs}{hosts}){where}"


def origin(curve: SuiteCurve) -> str:
    """Suite, version and the rule by which its unit was read."""
    version = f" {curve.version}" if curve.version else ""
    lines = f", lines {curve.first_line}-{curve.last_line}" if curve.last_line else ""
    return (
        f"{curve.suite}{version}, {curve.statistic} per size, {curve.unit_rule};"
        f" {curve.source or 'source not said'}{lines}"
    )


def better_is(quantity: Quantity) -> str:
    return "less is better" if quantity in LESS_IS_BETTER else "more is better"


def figure(estimate: Estimate, quantity: Quantity) -> str:
    """The value in the quantity's unit, without the unit."""
    if quantity == "time":
        return microseconds(estimate.value)
    if quantity in ("bandwidth", "bus_bandwidth"):
        return megabytes_per_s(estimate.value)
    return digits(estimate.value * SHOWN[quantity][1])


def share(value: float) -> str:
    """A share as percent with no more digits than it needs: ``5 %``."""
    return f"{value * 100:g} %"


def change(value: float, quantity: Quantity) -> str:
    """A change as a share of A, in percent and with its direction: ``+12.0 % (better)``."""
    better = (value < 0) == (quantity in LESS_IS_BETTER)
    equal = round(value * 100, 1) == 0
    return f"{signed(value)} ({'equal' if equal else 'better' if better else 'worse'})"


def signed(value: float) -> str:
    """``+12.0 %``, ``−3.2 %``, ``0.0 %``; at most a tenth of a percent is shown."""
    rounded = round(value * 100, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):,.1f} %"


#: Below this speed, as a share of A's, a curve is called slower.
_ALIKE = 0.995


def direction(pairs: Sequence[Pair]) -> str:
    """``B is 2.0 % faster``: the median over the curves of each one's median over its sizes."""
    return f"B is {_faster(median(map(_whole_speed, pairs)))}"


def loss(pairs: Sequence[Pair]) -> str:
    """How much slower B is, over all sizes, or at its worst size where the others hide it.

    Where no size is slower, why the first pair is a regression or in doubt.
    """
    chance = "" if pairs[0].regression else ", and chance may explain it"
    if all(_whole_speed(one) < _ALIKE for one in pairs):
        return f"{direction(pairs)}{chance}"
    each = ((_speed(two.ratio, one.a.quantity), two) for one in pairs for two in one.differences)
    speed, worst = min(each, key=lambda found: found[0])
    if speed >= _ALIKE:
        return pairs[0].regression or pairs[0].doubt
    at = "" if worst.message_bytes is None else f"at {size(worst.message_bytes)} "
    return f"{at}B is {_faster(speed)}{chance}"


def _whole_speed(pair: Pair) -> float:
    return _speed(1.0 + pair.summary.median_change, pair.a.quantity)


def _speed(ratio: float, quantity: Quantity) -> float:
    """How many times as fast as A."""
    return 1.0 / ratio if quantity in LESS_IS_BETTER else ratio


def _faster(speed: float) -> str:
    if abs(speed - 1.0) < 0.0005:
        return "as fast as A"
    word, ratio = ("faster", speed) if speed > 1.0 else ("slower", 1.0 / speed)
    return f"{times(ratio)} times {word}" if ratio >= 2.0 else f"{(ratio - 1.0) * 100:.1f} % {word}"


def change_interval(difference: Difference) -> str:
    """``−1.2 to +3.4 %``."""
    if difference.low is None or difference.high is None:
        return NO_INTERVAL
    low = signed(difference.low - 1.0).removesuffix(" %")
    return f"{low} to {signed(difference.high - 1.0)}"


def size_or_none(message_bytes: int | None) -> str:
    return "no size" if message_bytes is None else size(message_bytes)


def sizes(values: tuple[int | None, ...], most: int = 8) -> str:
    """Sizes as a list: all if few, else the first ones and how many more."""
    shown = ", ".join(size_or_none(one) for one in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def summed_up(pair: Pair) -> str:
    """The whole curve in one sentence."""
    together, quantity = pair.summary, pair.a.quantity
    if together.sizes == 1:
        return f"one size: {change(together.median_change, quantity)}"
    return (
        f"{together.sizes} sizes: median {change(together.median_change, quantity)},"
        f" from {signed(together.least_change)} to {signed(together.largest_change)};"
        f" geometric mean of B ÷ A {digits(together.mean_ratio)}"
    )


def counted(pair: Pair, tolerance: float) -> str:
    """How many sizes lie beyond the tolerance, and how surely."""
    together = pair.summary
    how = "by the bare figures" if pair.basis == "means" else "intervals allowed for"
    text = (
        f"beyond ± {share(tolerance)}, {how}: worse at {together.worse},"
        f" better at {together.better}; within at {together.within}"
    )
    return f"{text}, not decided at {together.open}" if together.open else text


def crossings(pair: Pair) -> list[str]:
    """Crossovers as sentences; those that are not significant are only counted."""
    sure = [one for one in pair.crossovers if one.significant]
    how = " (bare figures)" if pair.basis == "means" else ""
    found = [
        f"B becomes the {one.becomes} one between {size(one.from_bytes)} and"
        f" {size(one.to_bytes)}{how}"
        for one in sure
    ]
    rest = len(pair.crossovers) - len(sure)
    verb = "is" if rest == 1 else "are"
    said = f"{number_of(rest, 'change')} of sign that {verb} not significant"
    return [*found, said] if rest else found


def result(pair: Pair) -> str:
    """One word for a pair."""
    together = pair.summary
    if pair.regression:
        return "REGRESSION"
    if together.undecided or pair.doubt:
        return "undecided"
    if together.better and not together.worse:
        return "better" if 2 * together.better > together.sizes else "better in parts"
    if together.worse:
        return "mixed" if together.better else "worse in parts"
    return "no difference" if together.within == together.sizes else "none shown"


def pictures(pair: Pair, tolerance: float, names: tuple[str, str]) -> tuple[Picture, ...]:
    """Both curves, then the change; none where fewer than two sizes can be placed."""
    sized = [one for one in pair.differences if one.message_bytes is not None]
    if len(sized) < 2:
        return ()
    return _curves(pair, names), _changes(pair, sized, tolerance)


def _curves(pair: Pair, names: tuple[str, str]) -> Picture:
    quantity = pair.a.quantity
    series = tuple(
        PlotCurve(
            shortened(canvas_text(f"{side}: {name}"), LONGEST_NAME),
            suite_marks((one for one in curve.points if one.estimate.value > 0), curve),
        )
        for side, curve, name in zip("AB", (pair.a, pair.b), names, strict=True)
    )
    label = f"{SHOWN[quantity][0]}, {better_is(quantity)}"
    log = quantity in ("time", "message_rate")
    return Picture("Both curves", label, log, series, (), None)


def _changes(pair: Pair, sized: Sequence[Difference], tolerance: float) -> Picture:
    farthest = max(abs(100.0 * one.change) for one in sized) * 1.25
    least = max(LEAST_SPAN, BANDS * 100.0 * tolerance)
    span = min(max(farthest, least), max(LARGEST_SPAN, least))

    def inside(change: float) -> float:
        return min(max(100.0 * change, -span), span)

    marks = [
        Mark(
            position(one.message_bytes or 0), inside(one.change),
            inside((one.low or one.ratio) - 1.0), inside((one.high or one.ratio) - 1.0),
            size(one.message_bytes or 0), change(one.change, pair.a.quantity),
            change_interval(one), STANDINGS[one.standing],
            f"A {_samples(one.a.samples)}, B {_samples(one.b.samples)}",
        )
        for one in sized
    ]  # fmt: skip
    series = (PlotCurve("B against A", marks),)
    band = (-100.0 * tolerance, 100.0 * tolerance)
    label = f"B against A, %, {better_is(pair.a.quantity)}"
    title = f"B against A; tinted: ± {share(tolerance)}"
    equal = level("equal", series, 0.0)
    return Picture(title, label, False, series, equal, None, band=band, span=(-span, span))


def _samples(number: int) -> str:
    return f"{number:,}" if number else "not said"
