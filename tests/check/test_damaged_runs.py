"""One damaged record of a stored run costs itself: the run is still judged and shown."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import report
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: A pair of nodes, one node, all pairs of three, and another suite's figures.
CASES = ("0.1.0--healthy", "0.1.0--one-node", "0.1.0--slow-node-of-three", "0.1.0--iperf3")
FILES = ("results.jsonl", "launches.jsonl", "plan.json", "fabric.json")
WHOLE_NUMBERS = (-(2**62), -5, -1, 0, 7, 10**6, 10**12, 2**62)
NUMBERS = (-1e300, -1.0, 0.0, 1e-300, 1e300)

Where = tuple[str | int, ...]


def judged(case: str, file: str, lines: list[Any]) -> Judged:
    """The run with other lines in one of its files."""
    (run,) = (RUNS / case).iterdir()
    with tempfile.TemporaryDirectory() as root:
        place = Path(root) / run.name
        shutil.copytree(run, place, ignore=shutil.ignore_patterns("raw"))
        (place / file).write_text("".join(f"{json.dumps(one)}\n" for one in lines))
        found = conclude(load(RunDirectory(place)), DEFAULTS)
        assert report(found, "terminal")
    return found


def lines_of(case: str, file: str) -> list[Any]:
    (run,) = (RUNS / case).iterdir()
    text = (run / file).read_text()
    return [json.loads(line) for line in (text.splitlines() if file.endswith("l") else [text])]


def changed(line: Any, where: Where, value: object) -> Any:
    place = line
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value
    return line


@pytest.mark.parametrize("rank", [-5, 2, 10**12])
@pytest.mark.parametrize(
    "where",
    [
        ("record", "origin"), ("record", "target"), ("record", "counters", 0, "rank"),
        ("record", "counters", 1, "rank"), ("record", "processors", 0, "rank"),
    ],
)  # fmt: skip
def test_a_record_of_a_rank_that_is_none_costs_itself(where: Where, rank: int) -> None:
    lines = lines_of("0.1.0--healthy", "results.jsonl")
    place = next(n for n, one in enumerate(lines) if one["record"]["record"] == "case")
    name = lines[place]["record"]["case"]
    found = judged(
        "0.1.0--healthy", "results.jsonl",
        [changed(one, where, rank) if n == place else one for n, one in enumerate(lines)],
    )  # fmt: skip
    (verdict,) = (one for one in found.verdicts if one.rule == "completeness")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.figure is not None and name in verdict.summary
    kept = [one.case for launch in found.run.launches for one in launch.measurements]
    assert len(kept) == sum(one["record"]["record"] == "case" for one in lines) - 1


@pytest.mark.parametrize(
    ("case", "kind", "where"),
    [
        ("0.1.0--healthy", "header", ("record", "ranks")),
        ("0.1.0--healthy", "placement", ("record", "rank")),
        ("0.1.0--slow-node-of-three", "round", ("record", "origins", 0)),
        ("0.1.0--slow-node-of-three", "round", ("record", "targets", 0)),
    ],
)
@pytest.mark.parametrize("rank", [-1, 10**12])
def test_other_records_of_such_a_rank_cost_themselves(
    case: str, kind: str, where: Where, rank: int
) -> None:
    lines = lines_of(case, "results.jsonl")
    place = next(n for n, one in enumerate(lines) if one["record"]["record"] == kind)
    changed(lines[place], where, rank)
    assert judged(case, "results.jsonl", lines).verdicts


@pytest.mark.parametrize("array", ["origins", "targets", "samples", "median_ps"])
def test_a_round_whose_arrays_differ_in_length_costs_itself(array: str) -> None:
    lines = lines_of("0.1.0--slow-node-of-three", "results.jsonl")
    place = next(n for n, one in enumerate(lines) if one["record"]["record"] == "round")
    lines[place]["record"][array].append(1)
    found = judged("0.1.0--slow-node-of-three", "results.jsonl", lines)
    kept = [one for launch in found.run.launches for one in launch.rounds]
    assert len(kept) == sum(one["record"]["record"] == "round" for one in lines) - 1


def numbers(value: Any, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Every number and list in it, with the way there."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from numbers(one, (*where, key))
    elif isinstance(value, list):
        if where:
            yield where, value
        for place, one in enumerate(value):
            yield from numbers(one, (*where, place))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, value


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_run_with_one_odd_number_is_judged_or_refused_in_a_sentence(data: st.DataObject) -> None:
    case, file = data.draw(st.sampled_from(CASES)), data.draw(st.sampled_from(FILES))
    lines = lines_of(case, file)
    line = data.draw(st.sampled_from(range(len(lines))))
    by_name: dict[Where, list[tuple[Where, Any]]] = {}
    for where, value in numbers(lines[line]):
        name = tuple(step for step in where if isinstance(step, str))
        by_name.setdefault(name, []).append((where, value))
    if not by_name:
        return
    name = data.draw(st.sampled_from(sorted(by_name)))
    where, value = data.draw(st.sampled_from(by_name[name]))
    if isinstance(value, list):
        odd: Any = data.draw(st.sampled_from(([], value[:1], value + value[:1])))
    else:
        odd = data.draw(st.sampled_from(WHOLE_NUMBERS if isinstance(value, int) else NUMBERS))
    try:
        found = judged(
            case, file, [*lines[:line], changed(lines[line], where, odd), *lines[line + 1 :]]
        )
    except FabricgaugeError as refused:
        assert str(refused)
    else:
        assert found.verdicts
