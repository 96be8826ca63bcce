"""Callgrind counts the same calls: another tracer, on a processor that it emulates."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.nodes.engines.path_samples import programs, started, usual, warm

from fabricgauge.features.path.programs import PathPrograms
from fabricgauge.nodes.launch.mpi_impls.mpich import OVER_LOOPBACK

pytestmark = pytest.mark.engine

#: What rank 0 runs in each call, by its names in the library, and nowhere else as often.
WATCHED = {
    "send": ("PMPI_Send",),
    "recv": ("PMPI_Recv",),
    "isend": ("PMPI_Isend", "PMPI_Wait"),
    "irecv": ("PMPI_Irecv",),
    "bcast": ("PMPI_Bcast",),
    "barrier": ("PMPI_Barrier",),
    "allreduce": ("PMPI_Allreduce",),
    "put": ("PMPI_Put", "PMPI_Win_flush"),
    "get": ("PMPI_Get", "PMPI_Win_flush"),
}
NODE: dict[str, str] = {}
#: Libfabric; UCX takes other ways on valgrind's processor.
TCP = {**OVER_LOOPBACK, "MPIR_CVAR_CH4_NETMOD": "ofi"}
SLOW = pytest.mark.slow
CALLS = [
    pytest.param("send", NODE, id="send"),
    *(pytest.param(one, NODE, id=one, marks=SLOW) for one in WATCHED if one != "send"),
    *(pytest.param(one, TCP, id=f"{one}-tcp", marks=SLOW) for one in ("send", "isend", "bcast")),
]
#: Calls that are compared, after those that warm up.
WARM = 20


@pytest.fixture(scope="module")
def built() -> PathPrograms:
    return programs()


@pytest.mark.parametrize(("call", "way"), CALLS)
def test_callgrind_counts_the_same_call(
    built: PathPrograms, tmp_path: Path, call: str, way: dict[str, str]
) -> None:
    # Valgrind's processor is another one: libc is told to take the functions that any one has.
    features = "-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-RTM,-SSSE3,Prefer_No_VZEROUPPER"
    alike = {**way, "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={features}"}
    calls, _ = started(tmp_path, built, call, calls=WARM, env=alike, limit_s=90)
    traced = [one.instructions for one in warm(calls)]
    counted = [_callgrind(built, call, name, tmp_path / name, alike) for name in WATCHED[call]]
    assert {len(traced), *map(len, counted)} == {WARM}
    assert sum(map(usual, counted)) == usual(traced)


def _callgrind(
    built: PathPrograms, call: str, function: str, folder: Path, env: dict[str, str]
) -> list[int]:
    """What callgrind counts in a function of rank 0's, in each warm call: a file after each."""
    folder.mkdir()
    made = (str(built.calls), call, "4", "50", str(WARM))
    watched = (f"--toggle-collect={function}", f"--dump-after={function}")
    out = f"--callgrind-out-file={folder / 'callgrind'}"
    variables = (word for name, value in env.items() for word in ("-genv", name, value))
    launcher = (str(built.mpi.mpiexec), "-launcher", "fork", *variables)
    valgrind = ("valgrind", "--tool=callgrind", *watched, out)
    subprocess.run(
        [*launcher, "-n", "1", *valgrind, *made, ":", "-n", "1", *made],
        check=True, timeout=150, capture_output=True,
    )  # fmt: skip
    files = sorted(folder.glob("callgrind.*"), key=lambda one: int(one.suffix[1:]))
    found = (re.search(r"^totals: (\d+)", one.read_text(), re.MULTILINE) for one in files)
    return [int(one[1]) for one in found if one][-WARM:]
