"""What the formats say alike: headline, changes with their direction, figures with units."""

from fabricgauge.model.comparison import Comparison, Difference, Operand, Pair, Standing
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity, SuiteCurve
from fabricgauge.report.quantities import digits, megabytes_per_s, microseconds, size

#: Unit in which a quantity is shown, and how many of it are one SI unit.
SHOWN: dict[Quantity, tuple[str, float]] = {
    "time": ("µs", 1e6),
    "bandwidth": ("MB/s", 1e-6),
    "bus_bandwidth": ("MB/s", 1e-6),
    "message_rate": ("messages/s", 1.0),
    "overlap": ("%", 100.0),
}

MEANING = {
    "regression": "B is worse than A by more than the tolerance, more surely than chance explains",
    "no regression": "no curve of B is surely worse than A's by more than the tolerance;"
    " smaller differences are not denied",
    "undecided": "in every pair the intervals leave more sizes open than they decide;"
    " measure longer or on a quieter machine, or allow more",
    "nothing comparable": "the two have no curve of one kind at a common size",
}

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


def headline(comparison: Comparison) -> str:
    """The outcome in one sentence."""
    allowed = share(comparison.tolerance)
    total = _count(len(comparison.pairs), "pair of curves", "pairs of curves")
    if comparison.outcome == "regression":
        bad = [pair for pair in comparison.pairs if pair.regression]
        bare = " (means only)" if all(_are_means(pair) for pair in bad) else ""
        return f"B is worse than A by more than {allowed} in {len(bad)} of {total}{bare}"
    if comparison.outcome == "no regression":
        return f"B is not shown to be worse than A by more than {allowed} in {total}"
    if comparison.outcome == "undecided":
        return f"The intervals are too wide to tell a difference of {allowed} in {total}"
    return "A and B have no curve in common"


def title(pair: Pair) -> str:
    """What was compared: the figure, its direction, and between which hosts."""
    names = dict.fromkeys((described(pair.a), described(pair.b)))
    return " / ".join(names)


def described(curve: SuiteCurve) -> str:
    """A curve by suite, benchmark and what one figure is."""
    hosts = f", {between(curve)}" if len(curve.hosts) > 1 else ""
    pairs = f", {curve.pairs} pairs" if curve.pairs > 1 else ""
    network = curve.settings.get("network", "")
    where = f" over {network}" if network else ""
    name = "" if curve.suite == "fabricgauge" else f"{curve.suite} "
    return f"{name}{curve.benchmark} ({curve.what}{pairs}{hosts}){where}"


def between(curve: SuiteCurve) -> str:
    sign = " ↔ " if curve.directions == 2 else " → "
    return sign.join(curve.hosts[:2]) + (" …" if len(curve.hosts) > 2 else "")


def origin(curve: SuiteCurve) -> str:
    """Suite, version and the rule by which its unit was read."""
    version = f" {curve.version}" if curve.version else ""
    lines = f", lines {curve.first_line}-{curve.last_line}" if curve.last_line else ""
    return (
        f"{curve.suite}{version}, {curve.statistic} per size, {curve.unit_rule};"
        f" {curve.source or 'source not said'}{lines}"
    )


def named(operand: Operand) -> str:
    """An operand by kind and name."""
    return f"{operand.kind} {operand.name}"


def unit(quantity: Quantity) -> str:
    return SHOWN[quantity][0]


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
    text = signed(value)
    if float(text.split(" ")[0].replace("−", "-").replace(",", "")) == 0:
        return f"{text} (equal)"
    better = (value < 0) == (quantity in LESS_IS_BETTER)
    return f"{text} ({'better' if better else 'worse'})"


def signed(value: float) -> str:
    """``+12.0 %``, ``−3.2 %``, ``0.0 %``; at most a tenth of a percent is shown."""
    rounded = round(value * 100, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):,.1f} %"


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
    if rest:
        found.append(
            f"{_count(rest, 'change', 'changes')} of sign that {_is(rest)} not significant"
        )
    return found


def result(pair: Pair) -> str:
    """One word for a pair."""
    together = pair.summary
    if pair.regression:
        return "REGRESSION"
    if together.undecided:
        return "undecided"
    if together.better and not together.worse:
        return "better" if 2 * together.better > together.sizes else "better in parts"
    if together.worse:
        return "mixed" if together.better else "worse in parts"
    return "no difference" if together.within == together.sizes else "none shown"


def _are_means(pair: Pair) -> bool:
    return pair.basis == "means" and "mean" in (pair.a.statistic, pair.b.statistic)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
