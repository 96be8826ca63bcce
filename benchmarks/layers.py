"""Our half round trip over libfabric, beside fi_pingpong's and MPI's over the same provider.

Everything runs on this machine, over the kernel's loopback or shared memory, with one library:
that of the embedded MPI, which fi_pingpong is given too. MPI is kept from its own shared memory, so
that the provider carries its messages. fi_pingpong reports a mean, and is compared with our mean;
MPI and libfabric are both measured by the engine, and compared by their medians.
"""

import argparse
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.launching import latency_case, run_engine, times_of
from benchmarks.places import Place, shared_memory
from benchmarks.ratios import spread
from benchmarks.tables import bytes_text, heading, table

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, FabricgaugeError
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import build
from fabricgauge.nodes.engines.find import embedded_mpi

LOOPBACK = "127.0.0.0/8"
SIZES = (8, 1024, 65536, 1 << 20)
PROVIDERS = ("tcp", "tcp;ofi_rxm", "shm")
BUDGET_S = 20.0
TIMEOUT_S = 60.0
#: With less payload what else uses the loopback may exceed it.
ENOUGH_BYTES = 1 << 20


class Trial(msgspec.Struct, frozen=True):
    """One launch of each of the three, next to each other in time; MPI may have refused."""

    ours: Times
    theirs_s: float
    mpi: Times | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for every provider and size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--providers", nargs="+", default=list(PROVIDERS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--trials", type=int, default=7)
    options = parser.parse_args(arguments)
    engine = build(embedded_mpi())
    what = (
        f"{engine.mpi.kind} {engine.mpi.version} and its libfabric; launches take turns,"
        f" {options.trials} of each per size.\nRatios: median of the trials' ratios (quartiles)."
    )
    print(heading("Half round trips over libfabric", what), flush=True)
    heads = ("provider", "size", "fi_pingpong µs", "our mean / theirs", "our µs", "MPI µs",
             "MPI / ours")  # fmt: skip
    for provider in options.providers:
        rows = [_row(engine, provider, size, options.trials) for size in options.sizes]
        print(table(heads, rows), flush=True)


def _row(engine: Engine, provider: str, size: int, wanted: int) -> tuple[str, ...]:
    begin = (provider, bytes_text(size))
    trips = 200 if size > 100_000 else 2000
    try:
        trials = [_trial(engine, provider, size, trips, number) for number in range(wanted)]
    except FabricgaugeError as error:
        return (*begin, f"not measured: {error}", "", "", "", "")
    mpi = [(one.mpi.median_s, one.ours.median_s) for one in trials if one.mpi]
    return (
        *begin,
        f"{statistics.median(one.theirs_s for one in trials) * 1e6:.2f}",
        str(spread([one.ours.mean_s / one.theirs_s for one in trials])),
        f"{statistics.median(one.ours.median_s for one in trials) * 1e6:.2f}",
        f"{statistics.median(one for one, _ in mpi) * 1e6:.2f}" if mpi else "not measured",
        str(spread([one / ours for one, ours in mpi])) if mpi else "",
    )


def _trial(engine: Engine, provider: str, size: int, trips: int, number: int) -> Trial:
    """All three, each time another one first."""
    measures: tuple[Callable[[Engine, str, int, int], Any], ...] = (_ours, _pingpong, _mpi)
    found: list[Any] = [None, None, None]
    for turn in range(3):
        which = (turn + number) % 3
        found[which] = measures[which](engine, provider, size, trips)
    return Trial(*found)


def _ours(engine: Engine, provider: str, size: int, trips: int) -> Times:
    pinned = () if provider == "shm" else ("--pin", LOOPBACK)
    words = (*pinned, "--transport", "ofi", "--provider", provider, "--messages", "plain")
    return _half_round_trip(engine, shared_memory(), provider, size, trips, words)


def _mpi(engine: Engine, provider: str, size: int, trips: int) -> Times | None:
    own = {"FI_PROVIDER": provider, "FI_TCP_IFACE": "lo", "MPIR_CVAR_NOLOCAL": "1",
           "MPIR_CVAR_CH4_NETMOD": "ofi"}  # fmt: skip
    place = msgspec.structs.replace(shared_memory(), env={engine.mpi.kind: own})
    try:
        return _half_round_trip(engine, place, provider, size, trips, ())
    except CannotRun:
        return None


def _half_round_trip(
    engine: Engine, place: Place, provider: str, size: int, trips: int, words: Sequence[str]
) -> Times:
    """Raises:
    CannotRun: the bytes did not go the provider's way.
    """
    samples = ("--iterations", str(trips))
    (measured,), _ = run_engine(
        engine, place, [latency_case("trial", size, BUDGET_S, "single")], (*words, *samples)
    )
    payload, crossed = sum(measured.payload_sent_bytes), _loopback_bytes(measured)
    if provider == "shm" and crossed >= payload >= ENOUGH_BYTES:
        raise CannotRun("the bytes crossed the loopback, not shared memory")
    if provider != "shm" and crossed < payload:
        raise CannotRun("the bytes did not cross the loopback")
    return times_of(measured)


def _loopback_bytes(measured: Measurement) -> int:
    return sum(
        one.after["lo"].tx_bytes - one.before["lo"].tx_bytes
        for one in measured.counters
        if "lo" in one.after
    )


def _pingpong(engine: Engine, provider: str, size: int, trips: int) -> float:
    """fi_pingpong's own mean, in s, with the library of the engine's MPI."""
    kind = "msg" if provider == "tcp" and not _connectionless(engine) else "rdm"
    argv = ["fi_pingpong", "-p", provider, "-e", kind, "-I", str(trips), "-S", str(size)]
    env = {**_with_library(engine), "FI_TCP_IFACE": "lo"}
    with subprocess.Popen(
        argv, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(20):
                done = process.run((*argv, "127.0.0.1"), timeout_s=TIMEOUT_S, env=env)
                if done.exit_code == 0:
                    return float(done.stdout.splitlines()[-1].split()[-2]) * 1e-6
                process.run(("sleep", "0.1"), timeout_s=1.0)
        finally:
            server.terminate()
    raise CannotRun(f"{' '.join(argv)} failed: {(done.stderr or done.stdout)[-200:]}")


def _connectionless(engine: Engine) -> bool:
    """Whether the library's tcp has endpoints without connections."""
    asked = ("fi_info", "-p", "tcp", "-t", "FI_EP_RDM")
    said = process.run(asked, timeout_s=TIMEOUT_S, env=_with_library(engine)).stdout
    return "provider: tcp\n" in said


def _with_library(engine: Engine) -> Mapping[str, str]:
    lib = Path(engine.mpi.mpicxx).resolve().parents[1] / "lib" / "mpich"
    return {"LD_LIBRARY_PATH": str(lib)} if lib.is_dir() else {}


if __name__ == "__main__":
    main()
