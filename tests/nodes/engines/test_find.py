"""Telling MPI installations apart by what their wrappers say."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes.engines import find

ANSWERS = {
    "openmpi": ("--showme:version", "mpicxx: Open MPI 5.0.11 (Language: C++)", "5.0.11"),
    "mpich": ("-v", "mpicxx for MPICH version 4.0.2", "4.0.2"),
    "intelmpi": ("-v", "mpigxx for the Intel(R) MPI Library 2021.11 for Linux*", "2021.11"),
}


def make_wrapper(folder: Path, name: str, argument: str, answer: str) -> Path:
    """A program that says ``answer`` when it is asked with ``argument``, and fails otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    wrapper = folder / name
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = "{argument}" ] && echo "{answer}"\n')
    wrapper.chmod(0o755)
    return wrapper


def make_program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("kind", ANSWERS)
def test_kind_and_version_are_what_the_wrapper_says(tmp_path: Path, kind: str) -> None:
    argument, answer, version = ANSWERS[kind]
    wrapper = make_wrapper(tmp_path, "mpicxx", argument, answer)
    launcher = make_program(tmp_path / ("mpirun" if kind == "openmpi" else "mpiexec.hydra"))
    mpi = find.describe_mpi(wrapper)
    assert (mpi.kind, mpi.version) == (kind, version)
    assert (mpi.mpicxx, mpi.mpiexec) == (wrapper, launcher)
    assert not mpi.embedded


def test_launcher_has_the_suffix_of_its_wrapper(tmp_path: Path) -> None:
    argument, answer, _ = ANSWERS["openmpi"]
    wrapper = make_wrapper(tmp_path, "mpicxx.openmpi", argument, answer)
    make_program(tmp_path / "mpirun")
    launcher = make_program(tmp_path / "mpirun.openmpi")
    assert find.describe_mpi(wrapper).mpiexec == launcher


@pytest.mark.parametrize(
    ("soname", "standard"), [("libmpi_abi.so.1", True), ("libmpi.so.12", False)]
)
def test_a_program_of_the_standard_s_abi_is_known_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soname: str, standard: bool
) -> None:
    program = tmp_path / "app"
    monkeypatch.setattr(find, "_linked_libraries", lambda _program: {soname: None})
    own = Mpi("mpich", "5.0", tmp_path / "x" / "bin" / "mpicxx", tmp_path / "x" / "bin" / "mpiexec")
    assert find.mpi_of(program, [own]) == msgspec.structs.replace(own, standard_abi=standard)


@pytest.mark.parametrize("kind", ["mpich", "openmpi"])
def test_a_library_of_the_standard_s_abi_belongs_to_the_mpi_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: MpiKind
) -> None:
    kinds: tuple[MpiKind, ...] = ("mpich", "openmpi")
    homes = {name: tmp_path / name for name in kinds}
    mpis = [
        Mpi(name, "6.0", home / "bin" / "mpicxx", home / "bin" / "mpiexec")
        for name, home in homes.items()
    ]
    library = homes[kind] / "lib" / "libmpi_abi.so.1"
    monkeypatch.setattr(find, "_linked_libraries", lambda _program: {"libmpi_abi.so.1": library})
    assert find.mpi_of(tmp_path / "app", mpis).kind == kind
    library = tmp_path / "other" / "lib" / "libmpi_abi.so.1"
    with pytest.raises(CannotRun, match="libmpi_abi"):
        find.mpi_of(tmp_path / "app", mpis)


def test_a_launcher_has_the_wrapper_of_its_own_mpi(tmp_path: Path) -> None:
    launcher = make_program(tmp_path / "mpiexec.mpich")
    launcher.write_text("#!/bin/sh\necho 'HYDRA build details:'; echo '    Version: 4.0.2'\n")
    for name in ("mpicxx", "mpicxx.openmpi"):  # the alternative may be Open MPI's
        make_program(tmp_path / name)
    own = make_program(tmp_path / "mpicxx.mpich")
    mpi = find.describe_launcher(launcher)
    assert (mpi.kind, mpi.version, mpi.mpicxx) == ("mpich", "4.0.2", own)
    own.unlink()
    assert find.describe_launcher(launcher).mpicxx == tmp_path / "mpicxx"


def test_describe_fails_when_the_wrapper_is_a_plain_compiler(tmp_path: Path) -> None:
    compiler = make_wrapper(tmp_path, "g++", "-v", "gcc version 12.2.0")
    with pytest.raises(CannotRun, match=r"is not the C\+\+ compiler wrapper"):
        find.describe_mpi(compiler)


def test_describe_fails_when_there_is_no_such_program(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="nowhere/mpicxx is not a program"):
        find.describe_mpi(tmp_path / "nowhere" / "mpicxx")


def test_describe_fails_when_there_is_no_launcher(tmp_path: Path) -> None:
    argument, answer, _ = ANSWERS["mpich"]
    wrapper = make_wrapper(tmp_path, "mpicxx", argument, answer)
    with pytest.raises(CannotRun, match="its folder has no launcher"):
        find.describe_mpi(wrapper)


def test_wrappers_that_are_one_file_are_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argument, answer, _ = ANSWERS["mpich"]
    wrapper = make_wrapper(tmp_path, "mpicxx.mpich", argument, answer)
    make_program(tmp_path / "mpiexec.mpich")
    (tmp_path / "mpicxx").symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(find, "_embedded_wrapper", lambda: tmp_path / "none" / "mpicxx")
    assert [mpi.mpicxx for mpi in find.find_mpis()] == [wrapper]


def test_a_wrapper_that_is_not_understood_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wrapper(tmp_path, "mpicxx", "-v", "something else")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(find, "_embedded_wrapper", lambda: tmp_path / "none" / "mpicxx")
    assert find.find_mpis() == ()


def test_embedded_mpi_fails_when_it_was_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "_embedded_wrapper", lambda: tmp_path / "none" / "mpicxx")
    with pytest.raises(CannotRun, match=r"pip install.*or name one with --mpi "):
        find.embedded_mpi()


def installed(home: Path, kind: str, version: str) -> Mpi:
    """A made-up MPI below ``home``."""
    argument, answer, usual = ANSWERS[kind]
    wrapper = make_wrapper(home / "bin", "mpicxx", argument, answer.replace(usual, version))
    make_program(wrapper.with_name("mpirun" if kind == "openmpi" else "mpiexec.hydra"))
    return find.describe_mpi(wrapper)


@pytest.mark.parametrize("kind", ["openmpi", "mpich"])
def test_versions_of_one_soname_are_told_apart_by_where_the_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    soname = "libmpi.so.40" if kind == "openmpi" else "libmpi.so.12"
    known = [installed(tmp_path / version, kind, version) for version in ("4.1.4", "5.0.11")]
    for mpi in known:
        library = tmp_path / mpi.version / "lib" / "x86_64-linux-gnu" / soname
        monkeypatch.setattr(find, "_linked_libraries", lambda _, at=library: {soname: at})
        assert find.mpi_of(Path("app"), known) == mpi
        assert find.mpi_of(Path("app"), ()) == mpi, "its wrapper need not be on PATH"


def test_a_library_beside_another_mpi_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a distribution the prefix has several, and ``mpicxx`` is one of them."""
    installed(tmp_path, "mpich", "4.0.2")
    other = installed(tmp_path / "other", "openmpi", "5.0.11")
    library = tmp_path / "lib" / "libmpi.so.40"
    monkeypatch.setattr(find, "_linked_libraries", lambda _: {"libmpi.so.40": library})
    assert find.mpi_of(Path("app"), (other,)) == other
    with pytest.raises(CannotRun, match=r"needs libmpi\.so\.40 of openmpi"):
        find.mpi_of(Path("app"), ())
