"""Ours over verbs beside perftest, in turns, between two virtual machines with RDMA in software.

The machines' processors are emulated: the times tell whether the two agree, not how fast anything
is. What emulation cannot blur is how many packets the device sends for each message.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.ratios import in_turn, spread
from benchmarks.tables import bytes_text, heading, table

from fabricgauge.model.errors import CannotRun, FabricgaugeError
from fabricgauge.nodes import process

PROGRAM = str(Path(sys.executable).with_name("fabricgauge"))
LAB = "beside-perftest"
COUNTER = "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"
SIZES = (8, 4096)
WINDOW = 64
#: Fewer let the packets that connect the two weigh.
TRIPS, STREAMED = 400, 2048
TIMEOUT_S = 120.0
#: What the engine's target says at the end of a case.
FOUND_BYTES = 56
TRIES = 4


class Row(msgspec.Struct, frozen=True):
    """What is measured by both: perftest's program, and our pattern and messages."""

    program: str
    pattern: str
    messages_by: str = "send"

    @property
    def streams(self) -> bool:
        return self.program.endswith("_bw")


ROWS = (
    Row("ib_send_lat", "latency"), Row("ib_write_lat", "latency", "write"),
    Row("ib_read_lat", "get_latency"), Row("ib_send_bw", "bandwidth"),
    Row("ib_write_bw", "put_bandwidth"),
)  # fmt: skip


class Seen(msgspec.Struct, frozen=True):
    """The typical time of a message in s, and the packets that c1 sent for each."""

    message_s: float
    packets: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for every program and size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    programs = [row.program for row in ROWS]
    parser.add_argument("--programs", nargs="+", choices=programs, default=programs)
    asked = parser.parse_args(arguments)
    trials = asked.trials
    _run("lab", "up", "--name", LAB, "--rdma", "roce", "--network", "net1:1G:4200")
    try:
        what = f"Launches take turns, {trials} of each; ratios: median (quartiles)."
        print(heading("Verbs beside perftest, emulated", what), flush=True)
        heads = ("program", "size", "perftest µs", "ours µs", "ours / theirs", "packets of theirs",
                 "of ours")  # fmt: skip
        chosen = [row for row in ROWS if row.program in asked.programs]
        rows = [_told(row, size, trials) for row in chosen for size in SIZES]
        print(table(heads, rows), flush=True)
    finally:
        _run("lab", "down", "--name", LAB)


def _told(row: Row, size: int, trials: int) -> tuple[str, ...]:
    both = [*in_turn(lambda: _again(_theirs, row, size), lambda: _again(_ours, row, size), trials)]
    theirs, ours = zip(*both, strict=True)
    return (
        row.program,
        bytes_text(size),
        *(
            f"{statistics.median(one.message_s for one in each) * 1e6:.0f}"
            for each in (theirs, ours)
        ),
        str(spread([own.message_s / other.message_s for other, own in both])),
        *(f"{statistics.median(one.packets for one in each):.2f}" for each in (theirs, ours)),
    )


def _again(measure: Callable[[Row, int], Seen], row: Row, size: int) -> Seen:
    """Software RDMA loses a launch, and perftest its clock, now and then."""
    for left in reversed(range(TRIES)):
        try:
            return measure(row, size)
        except FabricgaugeError:
            if not left:
                raise
    raise AssertionError


def _theirs(row: Row, size: int) -> Seen:
    count = STREAMED if row.streams else TRIPS
    words = [row.program, "-d", "rxe0", "-x", "1", "-F", "-s", str(size), "-n", str(count)]
    words += ["-t", str(WINDOW)] if row.streams else []
    before = _packets()
    with subprocess.Popen(
        [PROGRAM, "lab", "exec", "--name", LAB, "c2", "--", *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            process.run(("sleep", "6"), timeout_s=10.0)
            text = _run("lab", "exec", "--name", LAB, "c1", "--", *words, "10.77.0.12")
        finally:
            server.terminate()
    rows = [line.split() for line in text.splitlines() if line.strip().startswith(f"{size} ")]
    if not rows:
        raise CannotRun(f"no row in: {text[-300:]}")
    # Bytes, iterations, then least, most and typical time; or peak, average, and messages.
    figure = float(rows[-1][4])
    message_s = 1e-6 / figure if row.streams else figure * 1e-6
    if not math.isfinite(message_s):
        raise CannotRun("perftest could not calibrate its clock")
    return Seen(message_s, (_packets() - before) / count)


def _ours(row: Row, size: int) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        _run(
            "check", "--lab", LAB, "--network", "roce", "-o", folder, "--launches", "1",
            "--transport", f"verbs:messages-by={row.messages_by}", "--patterns", row.pattern,
            "--sizes", str(size), "--case-budget", "2",
        )  # fmt: skip
        (results,) = Path(folder).rglob("results.jsonl")
        records = [json.loads(line)["record"] for line in results.read_text().splitlines()]
    cases = [one for one in records if one["record"] == "case"]
    if any(one["status"] != "ok" for one in cases):
        raise CannotRun("a case was not measured")
    (case,) = (one for one in cases if one["origin"] == 0)
    packets = case["counters"][0]["ports"]["rxe0:1"]["sent_pkts"]
    return Seen(case["times"]["median_s"] / case["window"], packets / _messages(case, size))


def _messages(case: Mapping[str, Any], size: int) -> int:
    """All of them, also those that lead in a block, where c2's payload counts each."""
    if case["pattern"] in ("latency", "get_latency"):
        return (int(case["payload_sent_bytes"][1]) - FOUND_BYTES) // size
    return int((case["samples"] + case["warmup_samples"]) * case["batch"] * case["window"])


def _packets() -> int:
    return int(_run("lab", "exec", "--name", LAB, "c1", "--", "cat", COUNTER))


def _run(*words: str) -> str:
    done = process.run((PROGRAM, *words), timeout_s=TIMEOUT_S)
    if done.timed_out or done.exit_code not in (0, 3):
        raise CannotRun(f"{' '.join(words)}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


if __name__ == "__main__":
    main()
