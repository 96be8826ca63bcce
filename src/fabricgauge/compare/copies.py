"""Find measurements that both sides hold: a copy of a run, or one log twice, compares nothing."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.model.groups import group_by
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words.sentences import counted

#: The first digits of two measurements of one network agree; the further ones are chance. So many
#: of these in one table do not agree by chance, and fewer do not if the logs agree word by word.
KNOWN_DIGITS, SAME_DIGITS, SAME_DIGITS_OF_ONE_LOG = 2, 8, 3

#: Significant digits of a figure that count.
_DIGITS = 6


class Samples(msgspec.Struct, frozen=True):
    """What identifies the measurements of a side.

    ``cases`` are the engine's cases by a digest of their samples. ``logs`` are the logs of other
    suites by a digest of their text.
    """

    cases: dict[bytes, str] = {}
    logs: dict[bytes, str] = {}


def identify_cases(run: Run) -> dict[bytes, str]:
    """Return the cases of a run with samples, each by a digest of these.

    A simulator gives the same samples each time, so its launches count as well.
    """
    return {
        _digest((
            case.case, case.samples, case.wall_s, case.times, case.block_medians_s,
            case.histogram_ps,
            (launch.header, launch.ended.wall_s) if run.fabric.simulated else None,
        )): f"launch {launch.number} {case.case}"
        for launch in run.launches
        for case in launch.completed
        if case.samples
    }  # fmt: skip


def describe_shared(
    a: Samples, a_curves: Sequence[SuiteCurve], b: Samples, b_curves: Sequence[SuiteCurve],
    *, simulated: bool = False,
) -> str:  # fmt: skip
    """Return why both sides are one measurement, at least in part; empty if they are not.

    ``simulated`` figures may be the same in two runs.
    """
    if shared := a.cases.keys() & b.cases.keys():
        first = next(name for digest, name in a.cases.items() if digest in shared)
        return (
            f"A and B hold the same samples in {counted(len(shared), 'case')} of"
            f" {len(b.cases)} (first {first}): one run and its copy, or records of one run in both"
        )
    by_figures = {_figures(curve): curve for curve in a_curves if curve.points}
    measured = [curve for curve in b_curves if curve.points]
    same = [
        (by_figures[figures], curve)
        for curve in measured
        if (figures := _figures(curve)) in by_figures
    ]
    digits = max(_chance_digits(curve for _, curve in same), default=0)
    least = SAME_DIGITS_OF_ONE_LOG if a.logs.keys() & b.logs.keys() else SAME_DIGITS
    if simulated or digits < least:
        return ""
    first = " and ".join(map(_place, same[0]))
    return (
        f"A and B hold the same figures in {counted(len(same), 'curve')} of {len(measured)} (first"
        f" {first}): one measurement, read twice"
    )


def _figures(curve: SuiteCurve) -> bytes:
    rows = [(point.message_bytes, point.estimate, point.besides) for point in curve.points]
    return _digest((curve.suite, curve.benchmark, curve.quantity, rows))


def _chance_digits(curves: Iterable[SuiteCurve]) -> Iterator[int]:
    """Yield for each table the digits that chance decides; its columns follow from each other.

    Tables do not add up: streams of a saturated link print one figure again and again.
    """
    tables = group_by(curves, lambda c: (c.source, c.first_line, "" if c.first_line else c.title))
    for columns in tables.values():
        yield max(
            sum(map(_count_digits, {point.estimate.value for point in curve.points}))
            for curve in columns
        )


def _count_digits(figure: float) -> int:
    """Return the number of digits of a figure after the known ones, without zeros at the end."""
    mantissa = f"{figure:.{_DIGITS - 1}e}".partition("e")[0].replace(".", "").rstrip("0")
    return max(0, len(mantissa.lstrip("-")) - KNOWN_DIGITS)


def _place(curve: SuiteCurve) -> str:
    line = f":{curve.first_line}" if curve.first_line else ""
    return f"{curve.source}{line} {curve.benchmark}".strip()


def _digest(value: object) -> bytes:
    return digest_text(msgspec.json.encode(value))


def digest_text(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
