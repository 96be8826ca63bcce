"""The proof on a GPU: damaged parts, figures, the report, and the programs of a rehearsal."""

import json
import os
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpu_proof import steps
from gpu_proof.bench import Bench, Completed, Result
from gpu_proof.curves import (
    compare_figures,
    gather,
    ratios,
    read_copies,
    read_engine,
    read_osu,
    read_pingpong,
)
from gpu_proof.nccl_code import keep_architectures
from gpu_proof.pack import Packer, pinned
from gpu_proof.parts import Unpacked, unpack, write_parts
from gpu_proof.report import write_report
from gpu_proof.run import make_own_folder, unpack_wheel, without_foreign_wheels
from gpu_proof.steps import (
    STEPS,
    be_refused,
    check_with_gauge,
    measure,
    meet_failures,
    read_by_gauge,
    run_nccl,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "scripts" / "gpu_proof" / "programs"
STAND_IN = ROOT / "engine" / "tests" / "stand_in_cuda.c"
MOST = 512 << 10


def packed(tmp: Path, sizes: dict[str, int]) -> tuple[dict[str, bytes], list[Path]]:
    contents, items = {}, []
    (tmp / "items").mkdir()
    for name, size in sizes.items():
        contents[name] = random.Random(name).randbytes(size)  # noqa: S311
        items.append(tmp / "items" / name)
        items[-1].write_bytes(contents[name])
    return contents, write_parts(items, tmp / "parts", MOST)


SIZES = {"site": 300_000, "mpi": 1_100_000, "engine": 1000, "nothing": 0}


def test_parts_are_no_larger_than_asked_and_give_the_items_back(tmp_path: Path) -> None:
    contents, parts = packed(tmp_path, SIZES)
    assert len(parts) >= 3
    assert all(part.stat().st_size <= MOST for part in parts)
    found = unpack(tmp_path / "parts", tmp_path / "out")
    assert {name: path.read_bytes() for name, path in found.items.items()} == contents
    assert (found.problems, found.missing) == ((), {})


@settings(max_examples=10)
@given(st.data())
def test_no_damage_gives_other_bytes_and_each_lost_item_is_named(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        tmp = Path(name)
        contents, parts = packed(tmp, SIZES)
        part = data.draw(st.sampled_from(parts))
        whole = part.read_bytes()
        match data.draw(st.sampled_from(["remove", "cut", "change"])):
            case "remove":
                part.unlink()
            case "cut":
                part.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
            case _:
                at = data.draw(st.integers(0, len(whole) - 1))
                part.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = unpack(tmp / "parts", tmp / "out")
        assert all(path.read_bytes() == contents[item] for item, path in found.items.items())
        assert found.items.keys() | found.missing.keys() == contents.keys()
        lost = contents.keys() - found.items.keys()
        assert lost <= found.missing.keys()
        assert all(item in found.missing[item] for item in lost)


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    _, parts = packed(tmp_path, SIZES)
    parts[1].unlink()
    found = unpack(tmp_path / "parts", tmp_path / "out")
    assert found.problems == (f"{parts[1].name} is missing",)
    assert "mpi" in found.missing


def test_a_folder_without_parts_says_how_to_make_them(tmp_path: Path) -> None:
    found = unpack(tmp_path, tmp_path / "out")
    assert "gpu-proof pack" in found.problems[0]


def test_each_package_is_packed_once_for_the_machine_s_python() -> None:
    names = [word.partition("==")[0] for word in pinned((ROOT / "requirements.lock").read_text())]
    assert len(names) == len(set(names))
    assert {"numpy", "msgspec"} <= set(names) and not {"mpich", "tomli"} & set(names)
    lock = "a==1 ; python_version < '3.12'\nb==2 ; python_full_version == '3.12.*' \\\nc==3 \\\n"
    assert list(pinned(lock)) == ["b==2", "c==3"]
    with pytest.raises(OSError, match="sys_platform"):
        list(pinned("d==1 ; sys_platform == 'win32'\n"))


def test_the_packed_wheel_gets_the_programs_of_the_machine_s_mpi(tmp_path: Path) -> None:
    rows = [
        {"file": f"{machine}/{soname}/{kind}", "kind": kind, "machine": machine, "soname": soname}
        for machine in ("x86_64", "aarch64")
        for kind, soname in (("engine", "libmpi.so.40"), ("engine", "libmpi.so.12"),
                             ("connect", ""), ("profile", "libmpi.so.40"))
    ]  # fmt: skip
    programs = tmp_path / "root" / "build" / "programs"
    for row in rows:
        (programs / row["file"]).parent.mkdir(parents=True, exist_ok=True)
        (programs / row["file"]).write_text(row["file"])
    packer = Packer(tmp_path / "root", tmp_path / "work")
    assert packer.programs_of_wheel() == {}
    (programs / "programs.json").write_text(json.dumps(rows))
    folder = Path(packer.programs_of_wheel()["FABRICGAUGE_PROGRAMS"])
    kept = json.loads((folder / "programs.json").read_text())
    assert [row["file"] for row in kept] == ["x86_64/libmpi.so.40/engine", "x86_64//connect"]
    assert all((folder / row["file"]).read_text() == row["file"] for row in kept)


def test_programs_of_an_unpacked_wheel_can_be_executed(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, mode in (("a/program", 0o755), ("a/text", 0o644)):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            packed.writestr(member, "content")
    unpack_wheel(wheel, tmp_path / "out")
    assert os.access(tmp_path / "out" / "a" / "program", os.X_OK)
    assert not (tmp_path / "out" / "a" / "text").stat().st_mode & 0o111


def test_wheels_of_another_python_are_named(tmp_path: Path) -> None:
    unpacked = Unpacked({"site": tmp_path, "mpi": tmp_path}, (), {})
    assert without_foreign_wheels(unpacked, (3, 12)) == unpacked
    other = without_foreign_wheels(unpacked, (3, 11))
    assert set(other.items) == {"mpi"}
    assert "Python 3.12, and this is 3.11" in other.missing["site"]


def proof(tmp_path: Path, *words: str) -> tuple[int, str]:
    argv = [
        sys.executable, str(ROOT / "scripts" / "gpu-proof"), "run", "--parts", str(tmp_path),
        "--work", str(tmp_path / "work"), "--output", str(tmp_path / "out"), *words,
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, (tmp_path / "out" / "report.md").read_text()


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="this machine has a GPU")
def test_without_parts_and_driver_the_proof_ends_with_a_report_that_says_so(tmp_path: Path) -> None:
    status, report = proof(tmp_path, "--only", "machine,cuda,nccl,gauge")
    assert status == 3
    assert report.startswith("# No proof: no GPU was measured")
    assert "there is no NVIDIA driver" in report
    assert "no part holds site" in report
    assert (tmp_path / "out" / "raw.tar.xz").stat().st_size > 100


def test_a_rehearsal_is_labelled_as_one(tmp_path: Path) -> None:
    bench = Bench(ROOT, tmp_path, tmp_path, {}, {}, True, 0.0, driver="stand-in, host memory")
    report = tmp_path / "report.md"
    results = [(STEPS[0], Result("done", "a | b"))]
    write_report(report, bench, results, ["part-1.tar is missing"], "", 1.0, "now")
    text = report.read_text()
    assert text.startswith("# REHEARSAL")
    assert "No figure below is a GPU's" in text.replace("\n", " ")
    assert "part-1.tar is missing" in text
    assert "a \\| b" in text


def case(pattern: str, size: int, window: int, median_s: float, **more: object) -> str:
    return json.dumps({
        "record": "case", "case": f"{pattern}/{size}", "pattern": pattern, "message_bytes": size,
        "window": window, "status": "ok", "reason": "", "times": {"median_s": median_s},
        "data_check": {"ok": True, "detail": "", "samples": 1},
        "memory": [{"rank": 0, "kind": "cuda", "device": "GPU"}],
    } | more)  # fmt: skip


def test_figures_of_the_engine_and_of_the_ping_pong_are_compared() -> None:
    bad = {"ok": False, "detail": "byte 7", "samples": 1}
    text = "\n".join([
        "UCX noise", json.dumps({"record": "placement", "copies": [
            {"bytes": 1000, "to_device_s": 1e-6, "to_host_s": 2e-6}]}),
        case("latency", 8, 1, 2e-6), case("bandwidth", 1000, 16, 1e-6),
        case("latency", 64, 1, 1e-6, status="failed", reason="no room"),
        case("latency", 128, 1, 1e-6, data_check=bad), '{"record":"footer"}', "{broken",
    ])  # fmt: skip
    output = read_engine(text)
    assert output.figures["latency", 8] == pytest.approx(2.0)
    assert output.figures["bandwidth", 1000] == pytest.approx(16000)
    assert output.copies == {1000: (1.0, 2.0)}
    assert [line.split(":")[0] for line in output.failures] == ["latency/64", "latency/128"]
    figures, different = read_pingpong("# head\n8 1.0 4.0 16 same\n1000 5.0 8000 16 DIFFERENT\n")
    assert different == ("pingpong: 1000 bytes arrived different",)
    mine, others = gather([output.figures]), gather([figures])
    assert sorted(ratios(mine, others)) == pytest.approx([2.0, 2.0])
    assert any("| 2.000 |" in line for line in compare_figures(mine, others, "ping-pong"))
    assert read_copies("# GPU\n8 1.5 2.5\nbroken\n") == {8: (1.5, 2.5)}


OSU_LATENCY = """
# OSU MPI-CUDA Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
0                       2.00
8                       4.00
1000                nan
"""


def test_a_table_of_osu_is_read() -> None:
    assert read_osu(OSU_LATENCY, "latency") == {("latency", 0): 2.0, ("latency", 8): 4.0}
    assert read_osu("", "bandwidth") == {}


@pytest.mark.parametrize(
    ("packed_osu", "factor", "osu_status", "expected"),
    [(True, 1.0, 0, "done"), (True, 2.0, 0, "failed"), (True, 1.0, 1, "failed"),
     (False, 1.0, 0, "done")],
)  # fmt: skip
def test_osu_is_the_third_measurement_if_it_was_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed_osu: bool, factor: float,
    osu_status: int, expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(steps, "SIZES", (0, 8))
    started = []

    def answer(name: str, argv: list[str]) -> tuple[int, str, str]:
        program = name.split("-")[0]
        started.append(program)
        if program == "pingpong":
            return 0, f"0 {2 * factor} 0 1 same\n8 {4 * factor} 1.0 16 same\n", ""
        if program == "engine":
            times = ((0, 2e-6), (8, 4e-6))
            lines = [case("latency", size, 1, seconds * factor) for size, seconds in times]
            return 0, "\n".join([*lines, case("bandwidth", 8, 16, 128e-6)]), ""
        assert argv[-4:] == ["-d", "cuda", "D", "D"]
        return osu_status, OSU_LATENCY, ""

    bench = answered(tmp_path, answer, rehearsal=False)
    bench.items = {"osu": tmp_path} if packed_osu else {}
    result = measure("cuda", 2)(bench)
    words = "\n".join([result.sentence, *result.lines])
    assert result.status == expected
    if packed_osu:
        assert started[:5] == ["pingpong", "engine", "osu", "osu", "osu"]
    else:
        assert "osu" not in started and "pack --osu PATH" in words


def test_a_few_points_are_no_proof(tmp_path: Path) -> None:
    """An MPI that breaks at the first message of GPU memory still measures that of 0 B."""

    def answer(name: str, argv: list[str]) -> tuple[int, str, str]:
        if name.startswith("pingpong"):
            return 139, "0 2.0 0 1 same\n", "[n1:1] Signal: Segmentation fault (11)\n----\n"
        return 139, case("latency", 0, 1, 2e-6), "----\n"

    result = measure("cuda,host", 1)(answered(tmp_path, answer, rehearsal=False))
    assert result.status == "failed"
    assert "figures of 1 points of 15" in result.sentence


def test_a_signal_is_named_before_the_last_line() -> None:
    fault = "[n1:1] Signal: Segmentation fault (11)\n------\n"
    assert "Segmentation fault (11)" in Completed(139, "", fault, 1.0).last_words
    assert Completed(1, "reason\n", "\n-----\n", 1.0).last_words == "reason"


Answer = Callable[[str, list[str]], tuple[int, str, str]]


class AnsweredBench(Bench):
    """A bench whose programs give the stated exit status, output and errors."""

    answer: Answer

    def execute(self, name: str, argv: Any, **_more: Any) -> Completed:
        return Completed(*self.answer(name, list(argv)), 0.1)


def answered(tmp_path: Path, answer: Answer, rehearsal: bool = True) -> Bench:
    bench = AnsweredBench(ROOT, tmp_path, tmp_path / "raw", {}, {}, rehearsal, 1e12)
    bench.answer = answer
    return bench


SAID = {
    "failure-hidden": "n1 has no NVIDIA device that its driver shows to this process",
    "failure-number": "n1 has no NVIDIA device 63: its driver shows 1, numbered from 0",
    "failure-taken": "H100 (device 0) of n1 is busy: another process has it to itself",
    "failure-driver": "no libcuda.so.1 on n1: install the driver (file too short)",
    "failure-memory": "H100 (device 0) of n1 is out of memory: 16777216 B were asked for",
}


@pytest.mark.parametrize("silent", ["", *SAID])
@pytest.mark.parametrize("instead", [(0, ""), (139, "mpirun: memory: signal 11; it failed")])
def test_each_failure_needs_the_engine_s_own_sentence(
    tmp_path: Path, silent: str, instead: tuple[int, str]
) -> None:
    def answer(name: str, _argv: list[str]) -> tuple[int, str, str]:
        if name == silent:
            return instead[0], "", instead[1]
        return 69, "", f"fabricgauge-engine: n1: {SAID[name]}\n"

    result = meet_failures(answered(tmp_path, answer))
    assert result.status == ("failed" if silent else "done")
    assert result.sentence.startswith("4 of 5" if silent else "5 of 5")


@pytest.mark.parametrize("holds", [True, False])
def test_a_full_memory_is_one_that_was_held(tmp_path: Path, holds: bool) -> None:
    program = tmp_path / "programs" / "hold"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\n{'echo holding 7 bytes of GPU; exec cat' if holds else 'exit 1'}\n"
    )
    program.chmod(0o700)

    def answer(name: str, _argv: list[str]) -> tuple[int, str, str]:
        return 69, "", f"fabricgauge-engine: n1: {SAID[name]}\n"

    result = meet_failures(answered(tmp_path, answer, rehearsal=False))
    assert result.status == ("done" if holds else "failed")


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [(69, "fabricgauge-engine: n1: the MPI (x) does not say that it is GPU-aware for cuda", "done"),
     (139, "signal 11", "failed"), (0, "", "failed")],
)  # fmt: skip
def test_a_crash_is_no_refusal(tmp_path: Path, status: int, text: str, expected: str) -> None:
    result = be_refused(answered(tmp_path, lambda _name, _argv: (status, "", text)))
    assert result.status == expected


@pytest.mark.parametrize(
    ("wrong", "given"),
    [("", (0, "")), ("gauge-discover", (3, "")), ("gauge-doctor", (2, "Usage")),
     ("gauge-doctor", (0, "")), ("gauge-import-nccl", (3, "")), ("gauge-import-nccl", (0, "odd"))],
)  # fmt: skip
def test_what_fabricgauge_returns_counts(
    tmp_path: Path, wrong: str, given: tuple[int, str]
) -> None:
    (tmp_path / "raw" / "nccl").mkdir(parents=True)
    (tmp_path / "raw" / "nccl" / "nccl-1.log").write_text("a log")

    def answer(name: str, _argv: list[str]) -> tuple[int, str, str]:
        return (*given, "an error") if name == wrong else (0, " PASS  all is well\n", "")

    result = read_by_gauge(answered(tmp_path, answer))
    assert result.status == ("failed" if wrong else "done"), result.sentence


@pytest.mark.parametrize(
    ("status", "kind", "patterns", "expected"),
    [(0, "cuda", ("latency", "bandwidth"), "done"), (1, "cuda", ("latency", "bandwidth"), "done"),
     (3, "cuda", (), "failed"), (1, "cuda", ("latency",), "failed"),
     (0, "host", ("latency", "bandwidth"), "failed"),
     (2, "cuda", ("latency", "bandwidth"), "failed")],
)  # fmt: skip
def test_a_check_counts_if_it_measured_from_a_gpu(
    tmp_path: Path, status: int, kind: str, patterns: tuple[str, ...], expected: str
) -> None:
    def answer(_name: str, argv: list[str]) -> tuple[int, str, str]:
        run = Path(argv[argv.index("-o") + 1]) / "run"
        run.mkdir(parents=True)
        records = (case(pattern, 8, 1, 1e-6, memory=[{"rank": 0, "kind": kind}])
                   for pattern in patterns)  # fmt: skip
        lines = "".join(f'{{"launch":1,"record":{record}}}\n' for record in records)
        (run / "results.jsonl").write_text(f"{lines}{{broken\n")
        return status, " INCONCLUSIVE  a word\n", ""

    assert check_with_gauge(answered(tmp_path, answer)).status == expected


@pytest.mark.parametrize(("wrong", "expected"), [(0, "done"), (3, "failed")])
def test_wrong_elements_of_a_collective_fail(tmp_path: Path, wrong: int, expected: str) -> None:
    def answer(name: str, _argv: list[str]) -> tuple[int, str, str]:
        bad = wrong if name.endswith("1-broadcast") else 0
        row = "           8             2     float     sum      -1     1.0    0.0    0.0      0\n"
        return 0, f"{row}# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}\n", ""

    bench = answered(tmp_path, answer)
    bench.raw.mkdir()
    result = run_nccl(bench)
    assert result.status == expected
    assert ("broadcast on 1 ranks: 3 wrong elements" in result.sentence) is bool(wrong)


def test_the_folder_for_the_work_is_the_user_s_own(tmp_path: Path) -> None:
    own = tmp_path / "own"
    for _ in range(2):
        assert make_own_folder(own) == ""
        assert own.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(own)
    assert "no folder" in make_own_folder(tmp_path / "link")
    own.chmod(0o777)
    assert "written by others" in make_own_folder(own)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    assert "another user" in make_own_folder(tmp_path / "theirs")
    argv = [sys.executable, str(ROOT / "scripts" / "gpu-proof"), "run", "--parts", str(tmp_path),
            "--work", str(tmp_path / "theirs"), "--output", str(tmp_path / "out")]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert list((tmp_path / "theirs").iterdir()) == []


def entry(architecture: int, payload: bytes) -> bytes:
    head = struct.pack("<HHIQ12xI", 2, 0, 64, len(payload), architecture)
    return head + bytes(64 - len(head)) + payload


def test_only_code_of_the_chosen_generations_is_kept_in_its_place() -> None:
    body = entry(80, b"A" * 40) + entry(90, b"H" * 48)
    library = b"ELF....." + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body + b"tail"
    kept, sizes = keep_architectures(library, frozenset({90}))
    assert sizes == {80: 40, 90: 48}
    assert len(kept) == len(library)
    assert b"A" * 8 not in kept and b"H" * 48 in kept and kept.endswith(b"tail")
    assert keep_architectures(library, frozenset({80, 90}))[0] == library
    assert keep_architectures(library[:50], frozenset())[0] == library[:50]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs without MPI, and the stand-ins for the driver and NCCL."""
    folder = tmp_path_factory.mktemp("built")
    strict = ["-O0", "-Wall", "-Wextra", "-Werror"]
    for source, name in (
        (STAND_IN, "libcuda.so.1"),
        (PROGRAMS / "stand_in_nccl.c", "libnccl.so.2"),
    ):
        argv = ["cc", *strict, "-shared", "-fPIC", str(source), "-o", str(folder / name)]
        subprocess.run(argv, check=True)
    for name in ("copies", "collectives"):
        argv = ["c++", *strict, "-std=c++17", str(PROGRAMS / f"{name}.cpp"), "-ldl"]
        subprocess.run([*argv, "-o", str(folder / name)], check=True)
    return folder


def started(built: Path, *argv: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LD_LIBRARY_PATH": str(built), "PROOF_NCCL": str(built / "libnccl.so.2")}
    return subprocess.run(
        [str(built / argv[0]), *argv[1:]], capture_output=True, text=True, check=False,
        env={**env, **more}, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip


@pytest.mark.engine
def test_copies_have_the_rate_that_was_planted(built: Path) -> None:
    done = started(built, "copies", "0.02", "1000000", GPU_PLANTED_COPY_RATE="1e9")
    ((there, back),) = read_copies(done.stdout).values()
    assert min(there, back) >= 1000 and max(there, back) < 20_000, done.stdout


@pytest.mark.engine
def test_collectives_print_a_log_that_our_reader_reads(built: Path) -> None:
    done = started(built, "collectives", "1", "all_reduce", "0.01", "8", "65536")
    curves = [one for one in read([done.stdout.encode()], "log") if isinstance(one, SuiteCurve)]
    assert {curve.benchmark for curve in curves} == {"all_reduce_perf"}
    assert {curve.ranks for curve in curves} == {1}
    assert not any(curve.failures or curve.cut_off for curve in curves)


@pytest.mark.engine
def test_collectives_count_wrong_elements(built: Path) -> None:
    done = started(built, "collectives", "1", "all_reduce", "0.01", "65536",
                   GPU_PLANTED_FAULT="corrupted")  # fmt: skip
    assert "# Out of bounds values : 1 FAILED" in done.stdout


@pytest.mark.engine
def test_a_refusal_of_nccl_is_printed_in_its_words(built: Path) -> None:
    done = started(built, "collectives", "2", "all_reduce", "0.01", "8")
    assert done.returncode == 3
    assert "Test NCCL failure" in done.stdout and "invalid usage" in done.stdout


@pytest.mark.engine
def test_a_program_without_a_driver_says_so_in_one_sentence(built: Path) -> None:
    done = started(built, "copies", "0.01", "8", LD_LIBRARY_PATH="")
    assert done.returncode == 69
    assert done.stderr.count("\n") == 1 and "libcuda.so.1" in done.stderr


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("fault", "word"), [("", "same"), ("corrupted", "DIFFERENT")])
def test_the_ping_pong_finds_a_byte_that_changed(built: Path, fault: str, word: str) -> None:
    wrapper = Path("/usr/bin/mpicxx.openmpi")
    if not wrapper.exists():
        pytest.skip(f"{wrapper} is not installed")
    program = built / "pingpong"
    argv = [str(wrapper), "-std=c++17", str(PROGRAMS / "pingpong.cpp"), "-ldl", "-o", str(program)]
    subprocess.run(argv, check=True)
    env = {
        **os.environ, "LD_LIBRARY_PATH": str(built), "GPU_PLANTED_FAULT": fault,
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }  # fmt: skip
    start = ["mpirun.openmpi", "--oversubscribe", "-np", "2", str(program), "cuda,host", "0.005"]
    if fault:
        start[-2] = "host,cuda"
    done = subprocess.run([*start, "0", "5000"], capture_output=True, text=True, env=env,
                          check=False, timeout=100)  # fmt: skip
    figures, different = read_pingpong(done.stdout)
    assert set(figures) == {("latency", 0), ("latency", 5000), ("bandwidth", 5000)}, done.stderr
    assert bool(different) is bool(fault) and word in done.stdout
