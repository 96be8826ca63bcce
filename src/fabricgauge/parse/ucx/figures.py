"""ucx_perftest's headings of columns, and its rows of figures."""

import re

import msgspec

from fabricgauge.model.suite import Besides

#: A printed figure, with thousands' separators (``-N``); also inf and nan.
_FIGURE = r"-?(?:\d[\d,]*(?:\.\d+)?|inf|nan)"
_ROW = re.compile(
    rf"(?:(?P<name>\[thread \d+\]|[^\s\d][^\s,|]*)\s+)?"
    rf"(?P<figures>{_FIGURE}(?:\s+{_FIGURE})*)"
)
_NAMES = re.compile(
    r"\|(?: +(?P<stage>Stage|Test) +\|)? +# iterations +\| *"
    r"(?:(?P<percentile>\d{1,3}(?:\.\d{1,3})?)%ile|(?P<typical>typical)) *\| *average"
)
_CSV_NAMES = re.compile(
    r"(?:[^,\s]+,)*iterations,(?:(?P<percentile>\d{1,3}(?:\.\d{1,3})?)_percentile|(?P<typical>typical))_lat,avg_lat,"
)
#: Where a comma divides figures, none of them contains one.
_CSV_ROW = re.compile(
    r"(?P<name>(?:(?=[^,\s]*[A-Za-z_])[^,\s]*,)*?)"
    r"(?P<figures>-?[\d.]+(?:,-?(?:\d+(?:\.\d+)?|inf|nan))+)"
)
#: No row is longer; what lies behind is not read.
_LONGEST = 400
#: Ranks of percentiles that a curve has a place for.
_PLACES: dict[float, Besides] = {
    50.0: "p50", 75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p99.9",
}  # fmt: skip


class Names(msgspec.Struct, frozen=True):
    """The heading's columns: ``rank`` is where the percentile goes, None for no place."""

    rank: Besides | None
    staged: bool
    csv: bool


class Row(msgspec.Struct, frozen=True):
    """Figures as printed: µs, 2^20 bytes/s, messages/s; a percentile below 0 is none."""

    name: str
    iterations: float
    percentile: float
    overall_us: float
    bandwidth: float
    rate: float


def names_of(text: str) -> Names | None:
    match = _NAMES.match(text)
    if match is not None:
        return Names(_place(match), match["stage"] is not None, csv=False)
    match = _CSV_NAMES.match(text)
    return None if match is None else Names(_place(match), staged=False, csv=True)


def _place(match: "re.Match[str]") -> Besides | None:
    return "typical" if match["typical"] else _PLACES.get(float(match["percentile"]))


def row_of(text: str, names: Names) -> Row | None:
    """The figures of a row: eight, or the four of several threads' sum; None if it is none."""
    match = (_CSV_ROW if names.csv else _ROW).fullmatch(text[:_LONGEST])
    if match is None:
        return None
    printed = match["figures"].split("," if names.csv else None, 9)
    if not names.csv:
        printed = [figure.replace(",", "") for figure in printed]
    try:
        figures = [float(figure) for figure in printed]
    except ValueError:
        return None
    return _row((match["name"] or "").strip(","), figures)


def _row(name: str, figures: list[float]) -> Row | None:
    if len(figures) == 8:
        iterations, percentile, _, overall, _, bandwidth, _, rate = figures
        return Row(name, iterations, percentile, overall, bandwidth, rate)
    if len(figures) == 4:
        return Row(name, figures[0], -1.0, *figures[1:])
    return None
