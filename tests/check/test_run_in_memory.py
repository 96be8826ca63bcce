"""A run is made in memory: the directory is written for safety, and read only to go on with it."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.check.test_measure import ENGINE

from fabricgauge.check import begin, conclude, groups, measure
from fabricgauge.check import main_job as check
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.judge import interface
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.judge.localise import detect
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.host_access import Host, HostAccess, LaunchCommand
from fabricgauge.model.pairs import FabricResult
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: How often matrices are analysed: never of two nodes, once of many, once more after a recheck.
CASES = {
    "0.1.0--healthy": 0,
    "0.1.0--slow-direction": 0,
    "0.1.0--ppn-2": 0,
    "0.1.0--slow-node": 2,
}
#: The numbers of launches for which evidence and ceilings are gathered: once in each state.
STATES = {
    "0.1.0--healthy": [1],
    "0.1.0--slow-direction": [1, 2, 3],
    "0.1.0--ppn-2": [1],
    "0.1.0--slow-node": [1, 3],
}
#: A direction that is slower than the other is measured again, and no matrix is there.
SLOWER_ONE_WAY = {"0.1.0--slow-direction"}


def stored(case: str) -> RunDirectory:
    (path,) = (RUNS / case).iterdir()
    return RunDirectory(path)


class Replayed:
    """What stands for a started launch: the records that a stored run has of it."""

    def __init__(self, lines: list[bytes], ended: Ended) -> None:
        self._lines, self._ended = lines, ended

    def __iter__(self) -> Iterator[str]:
        return (line.decode() for line in self._lines)

    def ended(self) -> Ended:
        return self._ended

    def close(self) -> None:
        """Nothing runs."""


class Counted:
    """How often a run was read, and its matrices analysed.

    ``gathered`` has an entry for each call that gathers evidence or ceilings from launches.
    """

    def __init__(self) -> None:
        self.loads = self.analyses = 0
        self.gathered: list[tuple[str, tuple[Launch, ...]]] = []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    made = Counted()
    decode_lines, localise = RunDirectory.decode_lines, detect.localise

    def read(self: RunDirectory, name: str, *rest: Any) -> Any:
        made.loads += name == "results.jsonl"
        return decode_lines(self, name, *rest)

    def analyse(*given: Any) -> Any:
        made.analyses += 1
        return localise(*given)

    def record_evidence(run: Run) -> Any:
        made.gathered.append(("evidence", run.launches))
        return gather_evidence(run)

    def gather_ceilings(networks: tuple[Network, ...], launches: tuple[Launch, ...]) -> Any:
        made.gathered.append(("ceilings", launches))
        return ceilings(networks, launches)

    monkeypatch.setattr(RunDirectory, "decode_lines", read)
    for module in (conclude, interface):
        monkeypatch.setattr(module, "gather_evidence", record_evidence)
    monkeypatch.setattr(conclude, "ceilings", gather_ceilings)
    monkeypatch.setattr(detect, "localise", analyse)
    return made


def replay(run: Run, records: dict[int, list[bytes]], patch: pytest.MonkeyPatch) -> None:
    """Launches make the records of a stored run, on its nodes and by its plan."""
    ends = {launch.number: launch.ended for launch in run.launches}
    told = {
        launch.number: {one.case for one in launch.measurements}
        | {one.case for one in launch.rounds}
        for launch in run.launches
    }

    def start(_: object, cases: str, *__: Any, marker: str, **___: Any) -> Replayed:
        """What is not in the stored run says what the launch said that has most of its cases."""
        number = int(marker.rsplit("/launch-")[1].split("-")[0])
        names = {line.split()[0] for line in cases.splitlines()}
        known = max(records, key=lambda one: (len(names & told[one]), one == number))
        return Replayed(records[known], ends[known])

    patch.setattr(begin, "try_connections", lambda *_: ())  # those nodes are not here
    first = tuple(one for one in run.plan.launches if one.purpose == "measure")
    plan = msgspec.structs.replace(run.plan, launches=first)
    patch.setattr(measure, "Running", start)
    patch.setattr(measure, "planned_command", lambda *_: LaunchCommand((), {}))
    patch.setattr(measure, "with_link_changes", lambda access, fabric, network, ended: ended)
    patch.setattr(begin, "discover_nodes", lambda *_: run.fabric)
    patch.setattr(begin, "plan_groups", lambda *_, **__: plan)


def records_of(directory: RunDirectory) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for line in (directory.path / "results.jsonl").read_bytes().splitlines():
        entry = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        number = msgspec.json.decode(entry["launch"], type=int)
        found.setdefault(number, []).append(bytes(entry["record"]))
    return found


def target_of(run: Run) -> Target:
    nodes = run.plan.launches[0].nodes
    access = HostAccess("local", tuple(Host(node, ()) for node in dict.fromkeys(nodes)))
    request = MeasurementRequest(rank_order=nodes)
    return Target(access, request, DEFAULTS, topology=run.fabric.topology, engine=ENGINE)


@pytest.mark.parametrize("case", CASES)
def test_a_check_reads_nothing_back_and_analyses_once_and_after_a_recheck(
    case: str, tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored(case)
    run, records = load(of), records_of(of)
    replay(run, records, monkeypatch)
    context = begin.begin(target_of(run), RunDirectory.create(tmp_path))
    counted.loads = counted.analyses = 0
    judged, _ = check.measure_and_judge(context)
    assert counted.loads == 0
    assert measured_again(judged.run) == (CASES[case] == 2 or case in SLOWER_ONE_WAY)
    assert counted.analyses == CASES[case]
    # Once for the records of each state: never twice for the same ones.
    states = [launches for name, launches in counted.gathered if name == "evidence"]
    assert [launches for name, launches in counted.gathered if name == "ceilings"] == states
    assert [len(launches) for launches in states] == STATES[case]
    read = load(RunDirectory(context.directory.path))
    assert read == msgspec.structs.replace(judged.run, complete=True)
    assert len(read.launches) >= len(run.launches)


def measured_again(run: Run) -> bool:
    return any(one.purpose == "again" for one in run.launches)


def test_where_small_messages_are_lost_a_slower_direction_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored("0.1.0--slow-direction")
    run, records = load(of), records_of(of)
    records = {
        number: [re.sub(rb'"record":"case"', b'\\g<0>,"losing":true', line) for line in lines]
        for number, lines in records.items()
    }
    replay(run, records, monkeypatch)
    context = begin.begin(target_of(run), RunDirectory.create(tmp_path))
    judged, _ = check.measure_and_judge(context)
    assert not measured_again(judged.run)


@pytest.mark.parametrize("kept", ["latency", "bandwidth"])
def test_where_small_messages_are_lost_only_streams_of_suspects_are_measured_again(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored("0.1.0--slow-node")
    run = load(of)
    first = tuple(one for one in run.plan.launches if one.purpose == "measure")
    plan = msgspec.structs.replace(run.plan, launches=first)
    lossy = tuple(
        msgspec.structs.replace(
            one,
            measurements=tuple(
                msgspec.structs.replace(each, losing=True) for each in one.measurements
            ),
        )
        for one in run.launches
        if one.purpose == "measure"
    )
    replay(run, records_of(of), monkeypatch)
    context = begin.begin(target_of(run), RunDirectory.create(tmp_path))
    context.run = msgspec.structs.replace(context.run, plan=plan, launches=lossy)
    (asked,) = context.fabric_result().rechecks
    assert not isinstance(asked.meetings, Skipped)
    meetings = tuple(one for one in asked.meetings if one.quantity == kept)
    asked = msgspec.structs.replace(asked, meetings=meetings)
    monkeypatch.setattr(RunContext, "fabric_result", lambda _: FabricResult((), (asked,)))
    monkeypatch.setattr(groups, "unclear", lambda _: ())
    launches = [made for _, made in groups.rechecks(context)]
    assert len(launches) == (kept == "bandwidth")
    assert meetings


def test_the_sizes_around_a_dip_are_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored("0.1.0--healthy")
    run = load(of)
    series = sorted(
        (one for one in run.launches[0].measurements if one.pattern == "latency"),
        key=lambda one: one.message_bytes,
    )
    slow, after = series[-2:]
    records = {
        number: [_slower(line, slow.case, 3.0 * after.times.median_s) for line in lines]
        for number, lines in records_of(of).items()
        if after.times
    }
    replay(run, records, monkeypatch)
    context = begin.begin(target_of(run), RunDirectory.create(tmp_path))
    check.measure_and_judge(context)
    (again,) = (one for one in context.plan.launches if one.purpose == "again")
    assert {slow.case, after.case} <= {case.name for case in again.cases}


def _slower(line: bytes, case: str, median_s: float) -> bytes:
    """The record, with another median if it is of that case; all its times grow alike."""
    record = msgspec.json.decode(line)
    if record.get("case") == case:
        factor = median_s / record["times"]["median_s"]
        record["times"] = {
            key: value * (1 if key == "confidence" else factor)
            for key, value in record["times"].items()
        }
        record["block_medians_s"] = [time_s * factor for time_s in record["block_medians_s"]]
        record["histogram_ps"] = []  # its samples would need longer than the case lasted
    return msgspec.json.encode(record)


def test_many_nodes_of_whom_nobody_is_suspected_are_analysed_once(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored("0.1.0--slow-node")
    run, records = load(of), records_of(of)
    replay(run, records, monkeypatch)
    monkeypatch.setattr(check, "rechecks", lambda *_: ())
    context = begin.begin(target_of(run), RunDirectory.create(tmp_path))
    counted.loads = counted.analyses = 0
    check.measure_and_judge(context)
    assert (counted.loads, counted.analyses) == (0, 1)


def test_a_run_that_is_taken_up_again_is_read_once(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = stored("0.1.0--slow-node")
    run, records = load(of), records_of(of)
    replay(run, records, monkeypatch)
    monkeypatch.setattr(begin, "end_marked", lambda _: None)
    partial = tmp_path / f"{of.identity}.partial"
    shutil.copytree(of.path, partial)
    for name in ("launches.jsonl", "results.jsonl"):
        kept = [one for one in (partial / name).read_bytes().splitlines() if b'"launch":1,' in one]
        (partial / name).write_bytes(b"\n".join(kept) + b"\n")
    first = tuple(one for one in run.plan.launches if one.purpose == "measure")
    half = RunDirectory(partial)
    half.write("plan.json", msgspec.structs.replace(run.plan, launches=first))
    counted.loads = counted.analyses = 0
    context: RunContext = begin.take_up(target_of(run), half)
    judged, _ = check.measure_and_judge(context)
    assert (counted.loads, counted.analyses) == (1, 2)
    assert judged.run.complete
    assert any(one.purpose == "again" for one in judged.run.launches)
