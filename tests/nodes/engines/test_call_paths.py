"""The tracer finds what is planted, and ends whatever happens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.nodes.engines.path_samples import preloaded, programs, started, usual, warm

from fabricgauge.features.path.programs import PathPrograms
from fabricgauge.nodes.engines.build import OFI_HEADER

pytestmark = pytest.mark.engine

#: A function of 100 instructions, with its return, before each send: a call, and 99 of nothing.
PLANTED = """
__asm__(".text\\n.globl planted_path\\n.type planted_path,@function\\nplanted_path:\\n"
        ".rept 99\\nnop\\n.endr\\nret\\n.size planted_path,.-planted_path\\n");
void planted_path(void);
int MPI_Send(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  planted_path();
  return PMPI_Send(b, n, t, to, tag, c);
}
"""

#: What becomes of rank 0 in its 61st send.
BREAKING = """
#include <signal.h>
#include <unistd.h>
int MPI_Send(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  static int calls;
  if (calls++ == 60) { BREAKS; }
  return PMPI_Send(b, n, t, to, tag, c);
}
"""

#: Refuses ptrace with EPERM from then on, as a container's seccomp profile does (seccomp(2)).
FORBIDDING = """
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(scope="module")
def built() -> PathPrograms:
    return programs()


def test_a_planted_function_of_100_instructions_is_found_exactly(
    built: PathPrograms, tmp_path: Path
) -> None:
    planted_env = preloaded(tmp_path, PLANTED)
    plain = warm(started(tmp_path / "plain", built, "send")[0])
    more = warm(started(tmp_path / "more", built, "send", env=planted_env)[0])
    assert len(plain) == len(more) == 20
    for call in more:
        (planted,) = [one for one in call.functions if one.function == "planted_path"]
        assert (planted.object, planted.instructions) == ("libplanted.so", 100)
        # 99 bytes of code and the return: two lines of 64 bytes, or three; and the stack's line.
        assert 2 <= planted.lines <= 4
    in_mpi = [
        usual([sum(o.instructions for o in c.objects if "planted" not in o.object) for c in calls])
        for calls in (plain, more)
    ]
    assert in_mpi[0] == in_mpi[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breaks", "limit_s", "says"),
    [
        ("MPI_Abort(c, 5)", 30, "exit status 5"),
        ("raise(SIGSEGV)", 30, "exit status 139"),
        ("for (;;) pause()", 3, "the time limit has passed"),
    ],
)
def test_a_rank_that_breaks_ends_the_launch_and_what_was_traced_is_told(
    built: PathPrograms, tmp_path: Path, breaks: str, limit_s: int, says: str
) -> None:
    env = preloaded(tmp_path, BREAKING.replace("BREAKS", breaks))
    calls, ended = started(tmp_path, built, "send", limit_s=limit_s, env=env)
    # The tracers of both ranks end with a status of their own: that of one or both is the launch's.
    assert ended.status in ("broken", "timeout")
    assert says in ended.message
    # Of the 60 calls one is cold, 50 are unwatched. MPI_Abort itself may be traced until it is cut.
    assert len([one for one in warm(calls) if not one.cut]) == 9


def test_where_ptrace_is_forbidden_it_says_so_and_what_to_do(
    built: PathPrograms, tmp_path: Path
) -> None:
    forbid = tmp_path / "forbid.py"
    forbid.write_text(FORBIDDING)
    calls, ended = started(tmp_path, built, "send", before=(sys.executable, str(forbid)))
    assert (calls, ended.status) == ([], "broken")
    assert "does not let a program trace its own child" in ended.message
    assert "SYS_PTRACE" in ended.message


def test_a_killed_launcher_leaves_nothing_behind(built: PathPrograms) -> None:
    words = (str(built.tracer), "--limit", "60", "--", "sleep", "60")
    launcher = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *words],
        stdout=subprocess.PIPE, env={"PMI_RANK": "0", "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert launcher.stdout is not None
    assert b"path_header" in launcher.stdout.readline()  # the tracer traces
    launcher.kill()
    # The pipe ends once neither the tracer nor what it traces holds it any more.
    assert launcher.communicate(timeout=20)[0] == b""


@pytest.mark.skipif(not OFI_HEADER.exists(), reason="libfabric-dev is not installed")
@pytest.mark.parametrize("provider", ["tcp", pytest.param("shm", marks=pytest.mark.slow)])
def test_calls_of_libfabric_are_counted_with_the_read_that_completes_them(
    built: PathPrograms, tmp_path: Path, provider: str
) -> None:
    """What is copied has no completion to read; both ends' own calls do no MPI."""
    words = ("--transport", "ofi", "--provider", provider)
    counted = {}
    for call in ("fi_tsend", "fi_tinject", "fi_trecv"):
        calls, ended = started(tmp_path / call, built, call, words=words)
        traced = warm(calls)
        assert (ended.status, len(traced)) == ("ok", 20), ended.message
        assert not [one for c in traced for one in c.objects if one.object.startswith("libmpi")]
        assert all(any("libfabric" in one.object for one in c.objects) for c in traced)
        counted[call] = usual([one.instructions for one in traced])
    assert counted["fi_tinject"] < counted["fi_tsend"]


@pytest.mark.skipif(not OFI_HEADER.exists(), reason="libfabric-dev is not installed")
@pytest.mark.parametrize("provider", ["tcp", "shm"])
def test_mpi_sends_by_what_libfabric_alone_executes(
    built: PathPrograms, tmp_path: Path, provider: str
) -> None:
    """MPICH takes the variant that hands the receiver's completion a number: a little more."""
    env = {"MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": provider}
    words = ("--transport", "ofi", "--provider", provider)
    in_libfabric = {}
    for call, below in {"send": (), "fi_tinject": words}.items():
        calls, ended = started(tmp_path / call, built, call, env=env, words=below)
        assert (ended.status, len(warm(calls))) == ("ok", 20), ended.message
        in_libfabric[call] = usual([
            sum(one.instructions for one in c.objects if "libfabric" in one.object)
            for c in warm(calls)
        ])  # fmt: skip
    assert 0 <= in_libfabric["send"] - in_libfabric["fi_tinject"] <= 10


@pytest.mark.skipif(not OFI_HEADER.exists(), reason="libfabric-dev is not installed")
def test_a_provider_that_is_not_there_is_named(built: PathPrograms, tmp_path: Path) -> None:
    words = ("--transport", "ofi", "--provider", "none-such")
    calls, ended = started(tmp_path, built, "fi_tsend", words=words)
    assert (calls, ended.status) == ([], "broken")
    assert "no provider none-such" in ended.message
