"""A whole check of up to 10,240 nodes, from the engine's lines to report and page.

Nodes and lines are synthetic: two matrices of one pass, 2 % noise, leaves of 32 nodes, and a node
with half of the rate. Each size has a process of its own. A line is made (not timed), then parsed,
stored and folded as in a check; judging and reports are those of a check.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from benchmarks.own_process import in_own_process, peak_mb
from benchmarks.tables import heading, table
from tests.judge import planted, planted_fabric

from fabricgauge.check.conclude import judge_context, make_context, write_reports
from fabricgauge.judge.localise.detect import localise
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.readers.engine import NotUnderstood, parse_line
from fabricgauge.model.fabric import Address, Fabric, Group, Member, Network, Node, Topology
from fabricgauge.model.measurement import FORMAT_VERSION, Header, Round, Timer
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.progress import SILENT
from fabricgauge.model.run import Ended, Launch
from fabricgauge.report.formats import report
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

SIZES = (1024, 2048, 5120, 10_240)
LEAF, SLOW = 32, 3
LATENCY_S, NOISE = 11e-6, 0.02
TIMEOUT_S = 1800.0

_T = TypeVar("_T")


class Phase(msgspec.Struct, frozen=True):
    """One part of a check: processor and wall seconds, and the peak of memory so far."""

    name: str
    processor_s: float
    wall_s: float
    peak_mb: float


class Taken(msgspec.Struct, frozen=True):
    """All parts of one check, the size of its files, and its headline."""

    nodes: int
    phases: tuple[Phase, ...]
    stored_mb: float
    page_mb: float
    outcome: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(msgspec.json.encode(_take(options.child)).decode())
        return
    what = (
        "Two matrices of one pass, from lines to page. The lines come while a check measures, so\n"
        "the sum is of what follows them. MB are the process's peak up to the end of a part."
    )
    print(heading("A whole check by the number of nodes", what), flush=True)
    for size in options.sizes:
        taken = in_own_process("benchmarks.whole_check", size, Taken, TIMEOUT_S)
        print(_describe(taken), flush=True)


def _describe(taken: Taken) -> str:
    after = taken.phases[1:]
    pairs = taken.nodes * (taken.nodes - 1)
    rows = [
        (phase.name, f"{phase.processor_s:.2f}", f"{phase.wall_s:.2f}", f"{phase.peak_mb:,.0f}")
        for phase in taken.phases
    ]
    sum_s = sum(phase.processor_s for phase in after)
    wall_s = sum(phase.wall_s for phase in after)
    rows.append(("all after the lines", f"{sum_s:.2f}", f"{wall_s:.2f}", rows[-1][-1]))
    return (
        f"\n{taken.nodes:,} nodes, {pairs:,} directed pairs: {sum_s / pairs * 1e9:.0f} ns of"
        f" processor per pair; {taken.stored_mb:,.0f} MB of records, {taken.page_mb:.2f} MB of"
        f" page; {taken.outcome}\n" + table(("part", "processor, s", "wall, s", "peak, MB"), rows)
    )


class _Clock:
    """Take the time of each part."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []

    def time(self, name: str, work: Callable[[], _T]) -> _T:
        used, began = time.process_time(), time.perf_counter()
        made = work()
        self.add(name, time.process_time() - used, time.perf_counter() - began)
        return made

    def add(self, name: str, processor_s: float, wall_s: float) -> None:
        self.phases.append(Phase(name, processor_s, wall_s, peak_mb()))


def _take(nodes: int) -> Taken:
    clock, names = _Clock(), tuple(f"c{number}" for number in range(1, nodes + 1))
    planned = PlannedLaunch(1, "net1", "10.0.0.0/8", names, ())
    plan = Plan("quick", Stopping(0.01, 0.95), True, (planned,))
    fabric = _fabric(names)
    with tempfile.TemporaryDirectory() as root:
        directory = RunDirectory.create(Path(root))
        about = run_files.About("2026-01-01T00:00:00Z", ("fabricgauge", "check"), {})
        run_files.write_beginning(directory, about, fabric, plan)
        collected = run_files.LaunchRecords(planned)
        _measure(directory, collected, nodes, clock)
        end = run_files.LaunchLine(1, 1, "net1", names, Ended("ok", 0, "", (), 60.0), ())

        def close_launch() -> Launch:
            run_files.append_launch(directory, end)
            return collected.build(1, end)

        launch = clock.time("close the launch", close_launch)
        run = msgspec.structs.replace(planted.run((launch,), of=fabric), plan=plan, complete=True)
        result = clock.time("analyse", lambda: localise(run.launches, fabric.topology))
        context = clock.time("gather evidence", lambda: make_context(run, DEFAULTS, result))
        judged = clock.time("judge", lambda: judge_context(context))
        clock.time("write files", lambda: write_reports(directory, judged, DEFAULTS, SILENT))
        clock.time("terminal", lambda: report(judged, "terminal"))
        files = {file.name: file.stat().st_size / 1e6 for file in directory.path.iterdir()}
    named = [f"{fault.part} {fault.names[0]}" for a in result.analyses for fault in a.faults]
    return Taken(
        nodes, tuple(clock.phases), files["results.jsonl"], files["report.html"],
        f"{judged.overall.value}, named {', '.join(named)}",
    )  # fmt: skip


def _measure(
    directory: RunDirectory, collected: run_files.LaunchRecords, nodes: int, clock: _Clock
) -> None:
    """Read, store and fold the engine's lines, as a check does while it measures."""
    processor_s = wall_s = 0.0
    for line in _lines(nodes):
        used, began = time.process_time(), time.perf_counter()
        record = parse_line(line)
        assert not isinstance(record, NotUnderstood), record
        run_files.append_records(directory, 1, 1, (record,))
        collected.extend((record,))
        processor_s += time.process_time() - used
        wall_s += time.perf_counter() - began
    clock.add("read, store, fold lines", processor_s, wall_s)


def _lines(nodes: int) -> Iterator[str]:
    """Yield what the engine writes: each rank, each round, and the end of each case."""
    like = planted_fabric.launch(nodes, ())
    timer = Timer("clock_gettime", 1e-9, 2e-8)
    yield _text(Header(
        "fabricgauge-engine", FORMAT_VERSION, "0.1", "MPICH 5", "5.0", "g++", nodes,
        "2026-01-01T00:00:00Z", timer,
    ))  # fmt: skip
    yield from map(_text, like.placements)
    rng = np.random.default_rng(nodes)
    rate = planted.CEILING_BYTES_PER_S * (0.99 + 0.001 * rng.standard_normal(nodes))
    rate[SLOW] *= 0.5
    for pattern, size, window in (
        ("all_pairs_latency", 8, 1),
        ("all_pairs_bandwidth", planted_fabric.MIB, planted_fabric.WINDOW),
    ):
        late = pattern == "all_pairs_latency"
        for number in range(nodes - 1):
            origins, targets = _pairs(nodes, number)
            if not late:
                origins, targets = np.append(origins, targets), np.append(targets, origins)
            times = (
                LATENCY_S * (1 + 0.2 * (origins // LEAF != targets // LEAF))
                if late
                else size * window / np.minimum(rate[origins], rate[targets])
            )
            noise = np.exp(NOISE * rng.standard_normal(len(times)))
            median = np.rint(times * (noise if late else np.maximum(noise, 1.0)) * 1e12)
            ps = median.astype(np.int64)
            made = Round(
                f"{pattern}/{size}", number, nodes - 1, size, window, tuple(origins.tolist()),
                tuple(targets.tolist()), (20,) * len(ps), tuple((ps * 98 // 100).tolist()),
                tuple(ps.tolist()), tuple((ps * 27 // 1000).tolist()), 0.3,
            )  # fmt: skip
            yield _text(made)
        last = msgspec.structs.replace(made, samples=(20,))
        yield _text(planted_fabric.end_of_case(last, nodes))


def _text(record: object) -> str:
    return msgspec.json.encode(record).decode()


def _pairs(nodes: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of a round of an even number of nodes, by the circle method."""
    others = np.arange(1, nodes // 2)
    one = np.append((number + others) % (nodes - 1), number)
    other = np.append((number - others) % (nodes - 1), nodes - 1)
    return np.minimum(one, other), np.maximum(one, other)


def _fabric(names: Sequence[str]) -> Fabric:
    nodes = tuple(_node(name, number) for number, name in enumerate(names, 1))
    members = tuple(
        Member(node.name, "eth0", node.interfaces[0].addresses[0].ip, 1500) for node in nodes
    )
    network = Network("net1", "10.0.0.0/8", "ethernet", planted.RATE, "ethtool", members)
    groups = tuple(
        Group(f"leaf-{1 + first // LEAF}", tuple(names[first : first + LEAF]))
        for first in range(0, len(names), LEAF)
    )
    return Fabric(nodes, (), (network,), topology=Topology(groups, "planted"))


def _node(name: str, number: int) -> Node:
    plain = planted.node(1)
    address = (Address(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 8),)
    interface = msgspec.structs.replace(plain.interfaces[0], addresses=address)
    return msgspec.structs.replace(
        plain,
        name=name,
        hostname=name,
        boot_id=f"boot-{name}",
        net_namespace=f"net:[{number}]",
        interfaces=(interface,),
    )


if __name__ == "__main__":
    main()
