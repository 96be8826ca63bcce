"""Where nothing can be traced it says why; where an MPI is part of the program it says so."""

import platform
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.nodes.engines.path_samples import programs, started, warm

from fabricgauge.features.path import programs as module
from fabricgauge.features.path import recording as app
from fabricgauge.features.path.programs import ZYDIS_LIBRARY, PathPrograms, path_programs
from fabricgauge.features.path.values import CALLS
from fabricgauge.features.path.verb import path as path_command
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes.engines import build
from fabricgauge.nodes.engines.find import describe_mpi

MPI = Mpi("mpich", "5.0.2", Path("/opt/mpi/bin/mpicxx"), Path("/opt/mpi/bin/mpiexec"))
ARCHIVE = Path("/usr/lib/x86_64-linux-gnu/libmpich.a")

#: Debian's MPICH, of which programs take the archive: mpich.pc names what that needs.
STATIC = """\
case "$1" in -show|-v|--*) exec /usr/bin/mpicxx.mpich "$@";; esac
exec g++ -I/usr/include/x86_64-linux-gnu/mpich "$@" -l:libmpich.a -lpthread -lhwloc -lucp -lucs
"""


def test_another_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(CannotRun, match="traces x86-64 only; this machine is aarch64"):
        path_programs(MPI)


def test_without_the_decoder_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "ZYDIS_HEADER", tmp_path / "Zydis.h")
    monkeypatch.setattr(build, "first_line", lambda *_: "g++ 12")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ToolMissing, match="needs the decoder Zydis.*install Debian's libzydis-dev"):
        path_programs(MPI)


@pytest.mark.engine
def test_a_node_without_the_decoder_is_told_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The tracer asks the loader for a version that there is not."""
    built = programs()
    tracer = tmp_path / built.tracer.name
    code = built.tracer.read_bytes()
    assert b"libZydis.so.4" in code
    tracer.write_bytes(code.replace(b"libZydis.so.4", b"libZydis.so.9"))
    tracer.chmod(0o755)
    monkeypatch.setattr(
        app, "path_programs", lambda *_: PathPrograms(tracer, built.calls, built.mpi)
    )
    words = ["--network", "node", "--calls", "send", "-o", str(tmp_path / "paths"), "--quiet"]
    # mpiexec may end by SIGPIPE, as it writes to the ended rank: then it is started once more.
    done = CliRunner().invoke(path_command, words)
    assert done.exit_code == 3, done.output
    assert f"a node lacks {ZYDIS_LIBRARY}" in " ".join(done.output.split())


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.skipif(not ARCHIVE.exists(), reason="Debian's libmpich-dev is not installed")
def test_an_mpi_that_is_linked_statically_is_traced_under_the_programs_name(tmp_path: Path) -> None:
    for name, text in {"mpicxx": STATIC, "mpiexec": 'exec /usr/bin/mpiexec.mpich "$@"\n'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    made = path_programs(describe_mpi(tmp_path / "mpicxx"))
    calls, ended = started(tmp_path / "launch", made, "send")
    shutil.rmtree(made.calls.parent)
    assert (ended.status, len(warm(calls))) == ("ok", 20), ended.message
    for call in warm(calls):
        first = call.functions[call.segments[0][0]]
        assert (first.object, first.function) == (CALLS, "MPI_Send")
        assert not [one for one in call.objects if "mpich" in one.object]
