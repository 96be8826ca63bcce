"""Buffers in device memory, with a stand-in for NVIDIA's driver whose memory is the host's."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.engines.launched import YIELD, engine_for

from fabricgauge import process
from fabricgauge.engines.sources import source_folder
from fabricgauge.model.engine import Engine
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import Footer, Header, Measurement, Record
from fabricgauge.model.memory import EndsMemory, RankMemory
from fabricgauge.model.pattern import PairPattern
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.run.launch import case_lines
from fabricgauge.run.mpi_impls.table import command

pytestmark = pytest.mark.engine

#: Between ranks of one machine the bytes go over sockets, where a byte can be changed on its way.
OVER_TCP = {
    "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "lo",
}  # fmt: skip

NODE = os.uname().nodename
UNAVAILABLE = 69


def compiled(source: str, library: Path) -> Path:
    path = source_folder() / "tests" / source
    built = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(path)]
    subprocess.run([*built, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand-ins")
    compiled("stand_in_cuda.c", folder / "libcuda.so.1")
    compiled("stand_in_gpu_aware.c", folder / "gpu_aware.so")
    compiled("corrupting.c", folder / "corrupting.so")
    return folder


@pytest.fixture
def cuda(stand_ins: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver and an MPI that says that it is CUDA-aware; both are stand-ins."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stand_ins))
    monkeypatch.setenv("LD_PRELOAD", str(stand_ins / "gpu_aware.so"))
    return stand_ins


def case(pattern: PairPattern = "latency", size: int = 5000, window: int = 1) -> Case:
    return Case(pattern, pattern, size, window, 0, 1, budget_s=0.05)


CASES = (
    case(), case("bandwidth", window=4), case("bidirectional_bandwidth", window=4),
    case("ping_ping"), case("persistent_latency"), case("persistent_bandwidth", window=4),
    case(size=0),
)  # fmt: skip


def launched(
    engine: Engine, cases: tuple[Case, ...], *options: str, **more: str
) -> tuple[process.Completed, list[Record]]:
    launch = PlannedLaunch(1, None, None, (NODE,) * 2, ())
    wanted = command(engine, launch, HostAccess("local", ()), ("--grace", "60", *options))
    env = {**wanted.env, **YIELD, **more}
    done = process.run(wanted.argv, env=env, stdin=case_lines(cases), timeout_s=120)
    lines = done.stdout.splitlines()
    return done, [msgspec.json.decode(line, type=Record) for line in lines]


def refused(engine: Engine, *options: str, **more: str) -> str:
    """Why no case was begun."""
    done, records = launched(engine, CASES, *options, **more)
    assert not any(isinstance(one, Measurement) for one in records)
    assert done.exit_code == UNAVAILABLE, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "fabricgauge-engine: " in line]
    return said


def measured(records: list[Record]) -> list[Measurement]:
    assert isinstance(records[-1], Footer)
    return [one for one in records if isinstance(one, Measurement)]


A = "stand-in GPU of model A"
B = "stand-in GPU of model B"


@pytest.mark.parametrize(
    ("options", "ends", "of_ranks"),
    [
        (("--memory", "cuda"), ("cuda", "cuda"), (("cuda", A, 0), ("cuda", B, 1))),
        (("--memory", "managed"), ("managed", "managed"), (("managed", A, 0), ("managed", B, 1))),
        (("--memory", "cuda,host"), ("cuda", "host"), (("cuda", A, 0), ("host",))),
        (("--memory", "host,cuda"), ("host", "cuda"), (("host",), ("cuda", B, 1))),
        (("--memory=cuda", "--device=1"), ("cuda", "cuda"), (("cuda", B, 1), ("cuda", B, 1))),
    ],
)
@pytest.mark.parametrize("check", [(), ("--check-data",)])
def test_each_end_has_the_memory_that_was_asked_for(
    options: tuple[str, ...], ends: tuple[str, str], of_ranks: tuple[tuple[str, ...], ...],
    check: tuple[str, ...], engine: Engine, cuda: Path,
) -> None:  # fmt: skip
    done, records = launched(engine, CASES, *options, *check)
    assert isinstance(records[0], Header), done.stderr
    assert records[0].memory == msgspec.convert(
        dict(zip(("origin", "target"), ends, strict=True)), EndsMemory
    )
    found = measured(records)
    assert len(found) == len(CASES)
    expected = tuple(RankMemory(rank, *one) for rank, one in enumerate(of_ranks))  # type: ignore[arg-type]
    for one in found:
        assert (one.status, one.reason) == ("ok", "")
        assert one.memory == expected
        assert one.data_check.ok, one.data_check.detail


def test_host_memory_opens_no_driver_and_is_not_told_of(embedded: Engine) -> None:
    _, records = launched(embedded, (case(),), "--memory", "host")
    assert isinstance(records[0], Header) and records[0].memory is None
    assert [one.memory for one in measured(records)] == [()]


@pytest.mark.parametrize("memory", ["cuda", "cuda,host", "host,cuda"])
def test_a_byte_that_changed_on_its_way_is_found(memory: str, cuda: Path) -> None:
    """Whichever end is on a device."""
    both = f"{cuda}/gpu_aware.so:{cuda}/corrupting.so"
    wanted = (case("bandwidth", 65536, 2),)
    done, records = launched(
        engine_for("openmpi"),
        wanted,
        "--memory",
        memory,
        "--check-data",
        LD_PRELOAD=both,
        **OVER_TCP,
    )
    (found,) = measured(records)
    assert found.status == "ok", done.stderr
    assert not found.data_check.ok and found.data_check.first_bad_offset_bytes is not None


def test_a_byte_that_the_device_changed_is_found(embedded: Engine, cuda: Path) -> None:
    _, records = launched(
        embedded, (case(),), "--memory", "cuda", "--check-data", CUDA_PLANTED_FAULT="corrupted"
    )
    assert [one.data_check.first_bad_offset_bytes for one in measured(records)] == [1000]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("no-device", f"{NODE} has no NVIDIA device that its driver shows to this process"),
        ("none-visible", f"{NODE} has no NVIDIA device that its driver shows to this process"),
        ("old-driver", f"the NVIDIA driver of {NODE} is too old: it has CUDA 6.5, 7.0 is needed"),
        ("unavailable", f"{A} (device 0) of {NODE} is busy: another process has it to itself"),
    ],
)
def test_a_node_that_lacks_a_usable_device_is_told_of_once(
    fault: str, why: str, engine: Engine, cuda: Path
) -> None:
    assert why in refused(engine, "--memory", "cuda", CUDA_PLANTED_FAULT=fault)


def test_a_device_that_does_not_exist_is_refused_with_their_number(
    embedded: Engine, cuda: Path
) -> None:
    why = refused(embedded, "--memory", "cuda", "--device", "2", CUDA_PLANTED_DEVICES="2")
    assert f"{NODE} has no NVIDIA device 2: its driver shows 2, numbered from 0" in why


@pytest.mark.parametrize(
    ("memory", "missing"),
    [
        ("cuda", ("no libcuda.so.1", "there is no NVIDIA driver")),
        ("host,cuda", ("no libcuda.so.1",)),
        ("hip", ("no libamdhip64.so", "there is no HIP of ROCm")),
        ("managed", ("no libcuda.so.1", "no libamdhip64.so")),
    ],
)
def test_a_missing_library_is_named_with_its_node(
    memory: str, missing: tuple[str, ...], embedded: Engine
) -> None:
    why = refused(embedded, "--memory", memory)
    assert all(f"{one} on {NODE}" in why or one in why for one in missing), why


def test_an_mpi_that_is_not_gpu_aware_is_refused(
    engine: Engine, stand_ins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stand_ins))
    why = refused(engine, "--memory", "cuda,host")
    assert "does not say that it is GPU-aware for cuda memory" in why
    assert "it answers no to MPIX_Query_cuda_support" in why


def test_a_case_that_the_device_has_no_room_for_fails_and_the_launch_goes_on(
    engine: Engine, cuda: Path
) -> None:
    cases = (case("bandwidth", 1 << 20, 4), case(size=8))
    _, records = launched(engine, cases, "--memory", "cuda", CUDA_PLANTED_FAULT="out-of-memory")
    large, small = measured(records)
    assert (large.status, small.status) == ("failed", "ok")
    # The target's: a buffer for each message of the window, one for what it sends itself.
    assert f"(device 1) of {NODE} is out of memory: 5242880 B were asked for" in large.reason or (
        f"(device 0) of {NODE} is out of memory: 5242880 B were asked for" in large.reason
    )


def test_a_copy_that_fails_ends_the_launch_with_the_drivers_words(
    embedded: Engine, cuda: Path
) -> None:
    done, records = launched(
        embedded, (case(),), "--memory", "cuda", "--check-data", CUDA_PLANTED_FAULT="failed-copy"
    )
    assert done.exit_code == UNAVAILABLE
    assert f"cuMemcpyDtoH_v2 failed on {NODE}: CUDA_ERROR_ILLEGAL_ADDRESS" in done.stderr
    assert not any(isinstance(one, Footer) for one in records)


@pytest.mark.parametrize("pattern", ["put_latency", "allreduce", "threads_latency"])
def test_other_patterns_are_skipped_with_what_to_leave_out(
    pattern: PairPattern, embedded: Engine, cuda: Path
) -> None:
    threads = ("--thread-multiple",) if pattern == "threads_latency" else ()
    _, records = launched(embedded, (case(pattern, 8), case()), "--memory", "cuda", *threads)
    first, second = measured(records)
    assert (first.status, second.status) == ("skipped", "ok")
    assert first.reason == f"{pattern} has host memory only: leave out --memory cuda"
