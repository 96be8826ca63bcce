"""The engine, built against the embedded MPI and run on this machine."""

import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.nodes.engines.launched import MPIS

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.model.measurement import Footer, Header, Measurement, Placement, Record
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import build, cache_folder, cached_engines
from fabricgauge.nodes.engines.find import describe_mpi

pytestmark = pytest.mark.engine

PATTERNS = ("latency", "bandwidth", "bidirectional_bandwidth", "put_latency", "put_bandwidth")


@pytest.fixture(scope="module")
def engine(embedded: Engine) -> Engine:
    return embedded


def test_program_is_hardened(engine: Engine) -> None:
    shown = process.run(["readelf", "-dsW", str(engine.path)], timeout_s=60).stdout
    assert "BIND_NOW" in shown or "Flags: NOW" in shown
    assert "__stack_chk_fail" in shown


def case(pattern: str, size: int = 4096, origin: int = 0, target: int = 1, **more: object) -> str:
    keys: dict[str, object] = {"window": 8, "budget_s": 0.1, **more}
    rest = " ".join(f"{key}={value}" for key, value in keys.items())
    name = f"{pattern}/{size}/{origin}-{target}"
    return f"{name} pattern={pattern} bytes={size} origin={origin} target={target} {rest}\n"


def start(engine: Engine, ranks: int, cases: Sequence[str], *options: str) -> process.Completed:
    argv = [str(engine.mpi.mpiexec), "-n", str(ranks), str(engine.path), *options]
    return process.run(argv, stdin="".join(cases) + "end\n", timeout_s=120)


def records(done: process.Completed) -> list[Record]:
    return [msgspec.json.decode(line, type=Record) for line in done.stdout.splitlines()]


def measurements(done: process.Completed) -> list[Measurement]:
    return [record for record in records(done) if isinstance(record, Measurement)]


def assert_consistent(found: Measurement) -> None:
    times = found.times
    assert times is not None
    assert sum(count for _, count in found.histogram_ps) == found.samples > 0
    assert 0 < times.minimum_s <= times.median_s <= times.maximum_s
    assert times.low_s <= times.median_s <= times.high_s
    assert times.minimum_s <= times.mean_s <= times.maximum_s
    # Percentiles are of all samples, the median is of blocks: one may stand above the other.
    assert times.minimum_s <= times.p90_s <= times.p99_s <= times.p999_s <= times.maximum_s
    assert all(times.minimum_s <= block <= times.maximum_s for block in found.block_medians_s)
    assert 1 <= len(found.block_medians_s) <= 512
    lowers = [lower for lower, _ in found.histogram_ps]
    assert lowers == sorted(set(lowers))
    assert lowers[0] <= times.minimum_s * 1e12 * (1 + 1e-9)
    assert found.stop in {"interval", "budget"}
    assert found.batch >= 1


def test_records_come_in_order_and_agree(engine: Engine) -> None:
    done = start(engine, 2, [case(pattern) for pattern in PATTERNS])
    assert done.exit_code == 0, done.stderr
    found = records(done)
    assert [type(record) for record in found] == (
        [Header] + [Placement] * 2 + [Measurement] * len(PATTERNS) + [Footer]
    )
    for measured in measurements(done):
        assert (measured.status, measured.reason) == ("ok", "")
        assert_consistent(measured)
        assert [len(measured.sockets), len(measured.processors)] == [2, 2]
        assert [node.rank for node in measured.counters] == [0]
        assert "lo" in measured.counters[0].before


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("origin", "target"), [(0, 1), (1, 0)])
def test_checked_data_are_intact_in_both_directions(
    engine: Engine, pattern: str, origin: int, target: int
) -> None:
    sizes = (0, 1, 1003, 262144)
    lines = [case(pattern, size, origin, target) for size in sizes]
    done = start(engine, 2, lines, "--check-data")
    assert done.exit_code == 0, done.stderr
    for measured in measurements(done):
        assert_consistent(measured)
        assert measured.data_check.requested
        assert measured.data_check.ok, measured.data_check.detail
        assert measured.batch == 1


def test_payload_sent_covers_every_sample(engine: Engine) -> None:
    (found,) = measurements(start(engine, 2, [case("bandwidth", 65536)]))
    assert found.sample_payload_bytes == 65536 * 8
    timed = (found.samples + found.warmup_samples) * found.sample_payload_bytes
    assert found.payload_sent_bytes[0] >= timed
    assert found.payload_sent_bytes[1] < 1000


def test_a_single_rank_is_skipped_with_the_number_it_needs(engine: Engine) -> None:
    done = start(engine, 1, [case("latency")])
    (found,) = measurements(done)
    assert (done.exit_code, found.status) == (0, "skipped")
    assert "needs 2 ranks, this launch has 1 rank" in found.reason
    assert found.times is None


@pytest.mark.parametrize(("ranks", "origin", "target"), [(3, 2, 0), (3, 0, 1), (4, 1, 3)])
def test_ranks_that_take_no_part_do_not_disturb(
    engine: Engine, ranks: int, origin: int, target: int
) -> None:
    done = start(engine, ranks, [case("latency", 8, origin, target), case("put_latency", 8, 0, 1)])
    assert done.exit_code == 0, done.stderr
    for measured in measurements(done):
        assert measured.status == "ok"
        assert len(measured.payload_sent_bytes) == ranks
        idle = set(range(ranks)) - {measured.origin, measured.target}
        assert all(measured.payload_sent_bytes[rank] == 0 for rank in idle)


def test_a_case_that_cannot_run_does_not_end_the_launch(engine: Engine) -> None:
    huge = case("bandwidth", 2147483647, window=65536)
    done = start(engine, 2, [huge, case("latency", 8, 0, 5), case("latency", 8)])
    assert done.exit_code == 0, done.stderr
    found = measurements(done)
    assert [measured.status for measured in found] == ["failed", "skipped", "ok"]
    assert "too little memory" in found[0].reason
    assert "rank 5 does not exist" in found[1].reason


def test_a_bad_line_ends_the_launch_with_its_number(engine: Engine) -> None:
    done = start(engine, 2, ["# comment\n", case("latency"), "broken pattern=latency\n"])
    assert done.exit_code == 65
    assert done.stdout == "" or "record" not in done.stdout
    assert "line 3: the key bytes is missing" in done.stderr


def test_an_unknown_option_is_refused(engine: Engine) -> None:
    done = start(engine, 1, [], "--fast")
    assert done.exit_code == 64
    assert "--fast is not known" in done.stderr


def test_a_subnet_on_no_interface_is_refused(engine: Engine) -> None:
    done = start(engine, 2, [case("latency")], "--pin", "203.0.113.0/24")
    assert done.exit_code == 69
    assert "203.0.113.0/24" in done.stderr


def test_a_pinned_interface_is_recorded(engine: Engine) -> None:
    done = start(engine, 1, [], "--pin", "127.0.0.0/8", "--interface-env", "FI_TCP_IFACE")
    placements = [record for record in records(done) if isinstance(record, Placement)]
    assert [placement.interface for placement in placements] == ["lo"]


def test_a_case_past_budget_and_grace_is_given_up_with_a_record(engine: Engine) -> None:
    good = case("latency", 8, budget_s=60)
    slow = case("bandwidth", 4194304, window=16, budget_s=0.001)
    done = start(engine, 2, [good, slow, good], "--grace", "0", "--iterations", "200")
    found = measurements(done)
    assert done.exit_code == 75
    assert [measured.status for measured in found] == ["ok", "timeout"]
    assert "within the budget of 0.001 s" in found[1].reason
    assert not any(isinstance(record, Footer) for record in records(done))
    assert "within the budget of 0.001 s" in done.stderr


def test_iterations_stop_a_case(engine: Engine) -> None:
    (found,) = measurements(
        start(engine, 2, [case("latency", 65536, budget_s=30)], "--iterations", "500")
    )
    assert found.stop == "iterations"
    # Warm-up is at most half of the blocks, which need not be half of the samples.
    assert 150 <= found.samples <= 500


def test_records_go_to_a_file_when_one_is_named(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    done = start(engine, 2, [case("latency", 8)], "--output", str(file))
    lines = file.read_text().splitlines()
    assert done.stdout == ""
    assert isinstance(msgspec.json.decode(lines[-1], type=Record), Footer)


def test_a_full_disk_is_said(engine: Engine) -> None:
    done = start(engine, 2, [case("latency", 8)], "--output", "/dev/full")
    assert done.exit_code == 74
    assert "/dev/full" in done.stderr


def test_records_that_nobody_takes_are_the_reason_not_a_case_without_end(
    engine: Engine, tmp_path: Path
) -> None:
    """Rank 0 hangs in writing, and the other rank, which waits, must not be the first to go."""
    fifo = tmp_path / "records"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    few = [case("latency", size, budget_s=0.05) for size in range(1, 9)]
    done = start(engine, 2, few, "--grace", "1", "--output", str(fifo))
    os.close(reader)
    assert done.exit_code == 74
    assert f"cannot be written to {fifo}: its file system or its reader takes" in done.stderr


def test_an_unchanged_engine_is_not_built_again(engine: Engine) -> None:
    built_at = engine.path.stat().st_mtime_ns
    again = build(engine.mpi)
    assert again == engine
    assert again.path.stat().st_mtime_ns == built_at
    assert engine in tuple(cached_engines())


def test_the_engine_names_compiler_flags_and_mpi(engine: Engine) -> None:
    (header, *_) = records(start(engine, 1, []))
    assert isinstance(header, Header)
    assert "-O2 -std=c++17" in header.compiler
    assert engine.mpi.version in header.mpi_library
    assert header.timer.overhead_s > 0


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("clang++"), reason="clang++ is not installed")
def test_another_compiler_is_another_engine(engine: Engine) -> None:
    other = build(engine.mpi, compiler="clang++")
    assert other.identity != engine.identity
    assert "clang" in other.compiler
    (header, *_) = records(start(other, 1, []))
    assert isinstance(header, Header)
    assert "lang" in header.compiler


@pytest.mark.slow
def test_what_knows_no_mpi_is_compiled_once_for_each_compiler(engine: Engine) -> None:
    others = [path for kind, path in MPIS.items() if kind != "embedded" and path and path.exists()]
    if not others:
        pytest.skip("there is no other MPI")
    cores = sorted(cache_folder().glob("core-*"))
    built_at = {file: file.stat().st_mtime_ns for core in cores for file in core.iterdir()}
    build(describe_mpi(others[0]), force=True)
    assert {file: file.stat().st_mtime_ns for core in cores for file in core.iterdir()} == built_at


def test_a_compiler_that_is_not_there_is_named(engine: Engine) -> None:
    with pytest.raises(ToolMissing, match="no-such-compiler"):
        build(engine.mpi, compiler="no-such-compiler")


def test_what_was_loaded_is_told(engine: Engine) -> None:
    (header, *_) = records(start(engine, 2, []))
    assert isinstance(header, Header)
    assert any("libmpi" in path for path in header.libraries)
    assert all(path.startswith("/") for path in header.libraries)


def test_build_fails_with_the_compilers_words(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "engine"
    (broken / "src").mkdir(parents=True)
    (broken / "src" / "main.cpp").write_text("int main() { return nothing; }\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("fabricgauge.nodes.engines.build.source_folder", lambda: broken)
    with pytest.raises(CannotRun, match="nothing"):
        build(engine.mpi)


def test_the_embedded_mpi_says_so(engine: Engine) -> None:
    assert engine.mpi.embedded
    assert describe_mpi(engine.mpi.mpicxx) == engine.mpi
