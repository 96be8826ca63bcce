"""Synthetic run directories of many nodes, in the format of real ones, for the history."""

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.check.plan.round_robin import pairs_of_round
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Fabric, Interface, Member, Network, Node
from fabricgauge.model.measurement import FORMAT_VERSION, Header, Round, Timer
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Ended
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.store.run_files import About, LaunchLine, ResultLine

#: The first run's start, and seconds from one run to the next.
FIRST_S, DAY_S = 1.7e9, 86400.0
LATENCY_S, RATE_BYTES_S = 1.6e-6, 12.1e9
LATENCY_BYTES, STREAM_BYTES, WINDOW = 8, 1 << 20, 2


def make_fabric(nodes: Sequence[str], firmware: str = "22.41.1000") -> bytes:
    """Return fabric.json of nodes on one network."""
    absent = Skipped("synthetic")
    members = []
    described = []
    for number, name in enumerate(nodes):
        ip = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        interface = Interface(
            "ib0", "mlx5_core", "up", True, 100e9, 2044, "", (Address(ip, 8),), absent, 0
        )
        facts = {"cpu model": "synthetic", "adapter firmware": firmware}
        node = Node(name, name, "", "net:[1]", 64, "6.1.0-28", (interface,), facts)
        described.append(node)
        members.append(Member(name, "ib0", ip, 2044))
    network = Network("ib", "10.0.0.0/8", "ipoib", 100e9, "synthetic", tuple(members))
    return msgspec.json.encode(Fabric(tuple(described), (), (network,)))


def write_run(
    root: Path, number: int, nodes: Sequence[str], fabric: bytes, rates: NDArray[np.float64],
    latencies: NDArray[np.float64], mpi: str = "mpich 4.2.0", rounds: Sequence[int] = (0, 1),
) -> Path:  # fmt: skip
    """Write a complete run in which each node's stream and latency have these levels.

    A pair has the lesser rate and the greater latency of its two nodes.
    """
    start_s = FIRST_S + number * DAY_S
    started = datetime.fromtimestamp(start_s, timezone.utc)
    name = f"{started:%Y%m%dT%H%M%SZ}-{number & 0xFFFFFF:06x}"
    path = root / name
    path.mkdir()
    utc = f"{started:%Y-%m-%dT%H:%M:%SZ}"
    about = About(utc, ("fabricgauge", "check"), {"MPI": mpi, "fabricgauge": "0.1.0"},
                  MeasurementRequest())  # fmt: skip
    launch = PlannedLaunch(1, "ib", "10.0.0.0/8", tuple(nodes), ())
    plan = Plan("quick", Stopping(0.01, 0.99), False, (launch,))
    header = Header(FORMAT_VERSION, "0.1.0", "0.1.0", mpi, "4.0", "", len(nodes), utc,
                    Timer("CLOCK_MONOTONIC", 1e-9, 1e-8))  # fmt: skip
    records: list[Header | Round] = [header]
    for turn in rounds:
        pairs = pairs_of_round(turn, len(nodes))
        first, second = pairs[:, 0], pairs[:, 1]
        half_s = np.maximum(latencies[first], latencies[second])
        records.append(_round("all_pairs_latency", turn, first, second, half_s, LATENCY_BYTES, 1))
        slower = np.minimum(rates[first], rates[second])
        window_s = STREAM_BYTES * WINDOW / slower
        records.append(
            _round("all_pairs_bandwidth", turn, np.concatenate((first, second)),
                   np.concatenate((second, first)), np.concatenate((window_s, window_s)),
                   STREAM_BYTES, WINDOW)
        )  # fmt: skip
    lines = (msgspec.json.encode(ResultLine(1, 1, record)) for record in records)
    ended = LaunchLine(1, 1, "ib", tuple(nodes), Ended("ok", 0, "", (), 1.0), ())
    rules = ("placement", "path", "fraction")
    verdicts = tuple(
        Verdict(Outcome.PASS, "sound", rule=rule, subject="ib", network="ib") for rule in rules
    )
    for file, content in {
        "run.json": msgspec.json.encode(about), "plan.json": msgspec.json.encode(plan),
        "fabric.json": fabric, "results.jsonl": b"\n".join(lines) + b"\n",
        "launches.jsonl": msgspec.json.encode(ended) + b"\n",
        "verdicts.json": msgspec.json.encode(verdicts),
    }.items():  # fmt: skip
        (path / file).write_bytes(content)
    return path


def _round(
    case: str, number: int, origins: NDArray[np.int64], targets: NDArray[np.int64],
    times_s: NDArray[np.float64], message_bytes: int, window: int,
) -> Round:  # fmt: skip
    picoseconds = tuple(np.round(times_s * 1e12).astype(np.int64).tolist())
    count = len(picoseconds)
    return Round(
        f"{case}/{message_bytes}", number, 2, message_bytes, window, tuple(origins.tolist()),
        tuple(targets.tolist()), (100,) * count, picoseconds, picoseconds,
        (10_000,) * count, 0.1,
    )  # fmt: skip
