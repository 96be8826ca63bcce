"""Buffers in device memory, with stand-ins for both vendors' drivers whose memory is the host's."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec
import pytest
from tests.nodes.engines.launched import YIELD, engine_for

from fabricgauge.model.engine import Engine
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import (
    CopyTimes,
    EndsMemory,
    Footer,
    Header,
    Measurement,
    Placement,
    RankMemory,
    Record,
)
from fabricgauge.model.pattern import CollectivePattern, Epoch, PairPattern, Pattern
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import source_folder
from fabricgauge.nodes.launch.launch import case_lines
from fabricgauge.nodes.launch.mpi_impls import command

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


class Gpu(NamedTuple):
    """A vendor's stand-in: ``kind`` of memory, and where its library and what is preloaded lie."""

    kind: str
    folder: Path
    vendor: str
    copies_to_host: str

    @property
    def aware(self) -> str:
        return str(self.folder / "gpu_aware.so")


LIBRARIES = {
    "cuda": ("stand_in_cuda.c", "libcuda.so.1", "NVIDIA", "cuMemcpyDtoH_v2"),
    "hip": ("stand_in_hip.c", "libamdhip64.so", "AMD", "hipMemcpy"),
}


@pytest.fixture(scope="module", params=["cuda", pytest.param("hip", marks=pytest.mark.slow)])
def stand_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    source, library, vendor, copies = LIBRARIES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    compiled(source, folder / library)
    compiled("stand_in_gpu_aware.c", folder / "gpu_aware.so")
    compiled("corrupting.c", folder / "corrupting.so")
    return Gpu(request.param, folder, vendor, copies)


@pytest.fixture
def gpu(stand_in: Gpu, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """A driver and an MPI that says that it is GPU-aware; both are stand-ins."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stand_in.folder))
    monkeypatch.setenv("LD_PRELOAD", stand_in.aware)
    return stand_in


def case(pattern: Pattern = "latency", size: int = 5000, window: int = 1) -> Case:
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
    ("memory", "of_ranks"),
    [
        ("{}", ((A, 0), (B, 1))),
        ("managed", ((A, 0), (B, 1))),
        ("{},host", ((A, 0), None)),
        ("host,{}", (None, (B, 1))),
        ("{} --device=1", ((B, 1), (B, 1))),
    ],
)
@pytest.mark.parametrize("check", [pytest.param((), marks=pytest.mark.slow), ("--check-data",)])
def test_each_end_has_the_memory_that_was_asked_for(
    memory: str, of_ranks: tuple[tuple[str, int] | None, ...], check: tuple[str, ...],
    engine: Engine, gpu: Gpu,
) -> None:  # fmt: skip
    wanted, *more = memory.format(gpu.kind).split()
    done, records = launched(engine, CASES, "--memory", wanted, *more, *check)
    assert isinstance(records[0], Header), done.stderr
    origin, _, target = wanted.partition(",")
    assert records[0].memory == EndsMemory(origin, target or origin)  # type: ignore[arg-type]
    kind = wanted.replace(",", "").replace("host", "")
    expected = tuple(
        RankMemory(rank, kind, *one) if one else RankMemory(rank, "host")  # type: ignore[arg-type]
        for rank, one in enumerate(of_ranks)
    )
    found = measured(records)
    assert len(found) == len(CASES)
    for one in found:
        assert (one.status, one.reason) == ("ok", "")
        assert one.memory == expected
        assert one.data_check.ok, one.data_check.detail


def copies(records: list[Record]) -> dict[int, tuple[CopyTimes, ...]]:
    return {one.rank: one.copies for one in records if isinstance(one, Placement)}


def test_copies_are_timed_at_the_sizes_of_the_cases_before_them(engine: Engine, gpu: Gpu) -> None:
    cases = (case(size=1 << 20), case("bandwidth", 65536, 4), case(size=65536), case(size=0))
    rate = 100e6
    _, records = launched(
        engine, cases, "--memory", f"{gpu.kind},host", GPU_PLANTED_COPY_RATE=str(rate)
    )
    assert isinstance(records[1], Placement)
    timed = copies(records)
    assert timed[1] == ()
    assert [one.bytes for one in timed[0]] == [65536, 1 << 20]
    for one in timed[0]:
        for seconds in (one.to_device_s, one.to_host_s):
            assert one.bytes / rate <= seconds < one.bytes / rate + 0.05


@pytest.mark.parametrize("memory", ["managed", "host"])
def test_memory_that_has_no_one_place_has_no_copies(
    memory: str, embedded: Engine, gpu: Gpu
) -> None:
    _, records = launched(embedded, (case(),), "--memory", memory)
    assert copies(records) == {0: (), 1: ()}


def test_host_memory_opens_no_driver_and_is_not_told_of(embedded: Engine) -> None:
    _, records = launched(embedded, (case(),), "--memory", "host")
    assert isinstance(records[0], Header) and records[0].memory is None
    assert [one.memory for one in measured(records)] == [()]


@pytest.mark.parametrize("memory", ["{}", "{},host", "host,{}"])
def test_a_byte_that_changed_on_its_way_is_found(memory: str, gpu: Gpu) -> None:
    """Whichever end is on a device."""
    both = f"{gpu.aware}:{gpu.folder}/corrupting.so"
    wanted = (case("bandwidth", 65536, 2),)
    options = ("--memory", memory.format(gpu.kind), "--check-data")
    mpi = engine_for("openmpi")
    done, records = launched(mpi, wanted, *options, LD_PRELOAD=both, **OVER_TCP)
    (found,) = measured(records)
    assert found.status == "ok", done.stderr
    assert not found.data_check.ok and found.data_check.first_bad_offset_bytes is not None


def test_a_byte_that_the_device_changed_is_found(embedded: Engine, gpu: Gpu) -> None:
    options = ("--memory", gpu.kind, "--check-data")
    _, records = launched(embedded, (case(),), *options, GPU_PLANTED_FAULT="corrupted")
    assert [one.data_check.first_bad_offset_bytes for one in measured(records)] == [1000]


NO_DEVICE = f"{NODE} has no {{vendor}} device that its driver shows to this process"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("no-device", NO_DEVICE),
        ("none-visible", NO_DEVICE),
        ("old-driver", f"the NVIDIA driver of {NODE} is too old: it has CUDA 6.5, 7.0 is needed"),
        ("unavailable", f"{A} (device 0) of {NODE} is busy: another process has it to itself"),
    ],
)
def test_a_node_that_lacks_a_usable_device_is_told_of_once(
    fault: str, why: str, engine: Engine, gpu: Gpu
) -> None:
    if gpu.kind == "hip" and why != NO_DEVICE:
        pytest.skip("HIP has neither a version that is too old nor devices of one process")
    told = refused(engine, "--memory", gpu.kind, GPU_PLANTED_FAULT=fault)
    assert why.format(vendor=gpu.vendor) in told


def test_a_device_that_does_not_exist_is_refused_with_their_number(
    embedded: Engine, gpu: Gpu
) -> None:
    why = refused(embedded, "--memory", gpu.kind, "--device", "2", GPU_PLANTED_DEVICES="2")
    assert f"{NODE} has no {gpu.vendor} device 2: its driver shows 2, numbered from 0" in why


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
    engine: Engine, stand_in: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stand_in.folder))
    why = refused(engine, "--memory", f"{stand_in.kind},host")
    assert f"does not say that it is GPU-aware for {stand_in.kind} memory" in why
    if stand_in.kind == "cuda":
        assert "it answers no to MPIX_Query_cuda_support" in why


def test_a_case_that_the_device_has_no_room_for_fails_and_the_launch_goes_on(
    engine: Engine, gpu: Gpu
) -> None:
    cases = (case("bandwidth", 1 << 20, 4), case(size=8))
    _, records = launched(engine, cases, "--memory", gpu.kind, GPU_PLANTED_FAULT="out-of-memory")
    large, small = measured(records)
    assert (large.status, small.status) == ("failed", "ok")
    # The target's: a buffer for each message of the window, one for what it sends itself.
    assert f"of {NODE} is out of memory: 5242880 B were asked for" in large.reason


def test_a_copy_that_fails_ends_the_launch_with_the_drivers_words(
    embedded: Engine, gpu: Gpu
) -> None:
    options = ("--memory", gpu.kind)
    done, records = launched(embedded, (case(),), *options, GPU_PLANTED_FAULT="failed-copy")
    assert done.exit_code == UNAVAILABLE
    assert f"{gpu.copies_to_host} failed on {NODE}: " in done.stderr
    assert "an illegal memory access was encountered" in done.stderr
    assert not any(isinstance(one, Footer) for one in records)


COLLECTIVES: tuple[CollectivePattern, ...] = (
    "bcast", "allgather", "allgatherv", "gather", "scatterv", "alltoall", "ialltoallv", "ibcast",
)  # fmt: skip


@pytest.mark.parametrize("memory", ["{}", "{},host", "host,{}"])
def test_one_sided_operations_reach_windows_on_a_device(
    memory: str, engine: Engine, gpu: Gpu
) -> None:
    patterns: tuple[tuple[PairPattern, int], ...] = (
        ("put_latency", 1), ("put_bandwidth", 3), ("get_latency", 1), ("get_bandwidth", 3),
    )  # fmt: skip
    cases = tuple(
        msgspec.structs.replace(case(pattern, window=window), epoch=epoch)
        for pattern, window in patterns
        for epoch in get_args(Epoch)
    )
    options = ("--memory", memory.format(gpu.kind), "--check-data")
    done, records = launched(engine, cases, *options)
    for one in measured(records):
        assert (one.status, one.reason) == ("ok", ""), done.stderr
        assert one.data_check.ok, (one.case, one.epoch, one.data_check.detail)
        assert [end.kind for end in one.memory] == [
            word if word == "host" else gpu.kind for word in _ends(memory)
        ]


def _ends(memory: str) -> list[str]:
    origin, _, target = memory.partition(",")
    return [origin, target or origin]


def test_threads_choose_the_device_before_they_send_from_it(engine: Engine, gpu: Gpu) -> None:
    """The stand-in for MPI copies what it sends by the driver, which aborts without a device."""
    each = (case("threads_latency"), case("threads_bandwidth", window=2))
    cases = tuple(msgspec.structs.replace(one, threads=2) for one in each)
    options = ("--memory", gpu.kind, "--thread-multiple", "--check-data")
    done, records = launched(engine, cases, *options, GPU_PLANTED_STAGING="1")
    for one in measured(records):
        assert (one.status, one.reason) == ("ok", ""), done.stderr
        assert one.data_check.ok, one.data_check.detail


def test_collectives_that_move_data_do_so_on_devices(engine: Engine, gpu: Gpu) -> None:
    cases = tuple(case(pattern, 4096) for pattern in COLLECTIVES)
    done, records = launched(engine, cases, "--memory", gpu.kind, "--check-data")
    for one in measured(records):
        assert (one.status, one.reason) == ("ok", ""), done.stderr
        assert one.data_check.ok, (one.case, one.data_check.detail)
        assert [(end.kind, end.device) for end in one.memory] == [(gpu.kind, A), (gpu.kind, B)]


def test_a_collective_finds_a_byte_that_the_device_changed(embedded: Engine, gpu: Gpu) -> None:
    options = ("--memory", gpu.kind, "--check-data")
    _, records = launched(embedded, (case("bcast", 4096),), *options, GPU_PLANTED_FAULT="corrupted")
    assert [one.data_check.first_bad_offset_bytes for one in measured(records)] == [1000]


def test_a_collective_that_the_device_has_no_room_for_fails_and_the_launch_goes_on(
    embedded: Engine, gpu: Gpu
) -> None:
    cases = (case("bcast", 4 << 20), case("bcast", 4096))
    options = ("--memory", gpu.kind)
    _, records = launched(embedded, cases, *options, GPU_PLANTED_FAULT="out-of-memory")
    large, small = measured(records)
    assert (large.status, small.status) == ("failed", "ok")
    assert f"of {NODE} is out of memory: " in large.reason


@pytest.mark.parametrize(
    ("pattern", "memory", "why"),
    [
        ("accumulate_latency", "{}", "has host memory only: leave out --memory {}"),
        ("fetch_and_op_latency", "{}", "has host memory only: leave out --memory {}"),
        ("allreduce", "{}", "has host memory only: leave out --memory {}"),
        ("multi_latency", "{}", "has host memory only: leave out --memory {}"),
        ("bcast", "{},host", "has no origin and target: take --memory {}"),
    ],
)
def test_other_patterns_are_skipped_with_what_to_do(
    pattern: Pattern, memory: str, why: str, embedded: Engine, gpu: Gpu
) -> None:
    _, records = launched(embedded, (case(pattern, 8), case()), "--memory", memory.format(gpu.kind))
    first, second = measured(records)
    assert (first.status, second.status) == ("skipped", "ok")
    assert first.reason == f"{pattern} {why.format(gpu.kind)}"
