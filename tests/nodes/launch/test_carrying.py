"""Programs carried to nodes; here the nodes are folders of this machine."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host
from fabricgauge.nodes.launch import carrying
from fabricgauge.nodes.launch.carrying import (
    DIGITS,
    MpiOfHead,
    NodeAnswer,
    Parcel,
    Placed,
    ask_nodes,
    drop,
    find_mpi_faults,
    parse_node_answer,
    place,
    read_versions,
    required_on_nodes,
    script,
)

ROOT = Path(__file__).parents[3]

#: A node that sees the head's files under no path: the words run in a shell that hides the program.
NODES = (Host("c1", ("env",)), Host("c2", ("env",)))


@pytest.fixture
def parcel(tmp_path: Path) -> Parcel:
    file = tmp_path / "head" / "fabricgauge-engine"
    file.parent.mkdir()
    file.write_bytes(b"#!/bin/sh\necho measured\n" + os.urandom(100_000))
    file.chmod(0o755)
    return Parcel(file, file.name, hashlib.sha256(file.read_bytes()).hexdigest())


def far(parcel: Parcel, tmp_path: Path) -> Parcel:
    """The same parcel at a path that no node has."""
    hidden = tmp_path / "hidden"
    parcel.file.rename(hidden)
    return Parcel(hidden, parcel.name, parcel.sha256)


def test_a_shared_path_is_used(parcel: Parcel, tmp_path: Path) -> None:
    bases = (str(tmp_path / "node"),)
    placed = place(NODES, parcel, bases, ask_nodes(NODES, parcel, bases))
    assert (placed.path, placed.carried, placed.failures) == (str(parcel.file), (), {})
    assert not (tmp_path / "node").exists()


def test_a_program_is_carried_and_removed(parcel: Parcel, tmp_path: Path) -> None:
    bases = (str(tmp_path / "node"),)
    parcel.file.chmod(0o644)  # no node can start it there
    answers = ask_nodes(NODES[:1], parcel, bases)
    placed = place(NODES[:1], parcel, bases, answers)
    copy = Path(placed.path)
    assert copy.read_bytes() == parcel.file.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o700
    assert copy.parent.stat().st_mode & 0o777 == (tmp_path / "node").stat().st_mode & 0o777 == 0o700
    assert (placed.carried, placed.failures) == (("c1",), {})
    drop(NODES[:1], placed, parcel)
    assert not (tmp_path / "node").exists()


def place_again(parcel: Parcel, base: Path, *, keep: bool = False) -> Placed:
    bases = (str(base),)
    return place(NODES[:1], parcel, bases, ask_nodes(NODES[:1], parcel, bases), keep=keep)


def test_the_last_run_removes_the_program(parcel: Parcel, tmp_path: Path) -> None:
    parcel.file.chmod(0o644)
    base = tmp_path / "node"
    first = place_again(parcel, base)
    second = place_again(parcel, base)
    assert (second.path, second.carried) == (first.path, ())  # it is not carried again
    for _ in range(2):  # a run that drops twice takes nothing from another
        drop(NODES[:1], first, parcel)
        assert Path(second.path).read_bytes() == parcel.file.read_bytes()
    drop(NODES[:1], second, parcel)
    assert not base.exists()


def test_a_kept_program_stays(parcel: Parcel, tmp_path: Path) -> None:
    parcel.file.chmod(0o644)
    kept = place_again(parcel, tmp_path / "node", keep=True)
    month = time.time() - 30 * 86400
    for mark in (Path(kept.path).parent / "used").iterdir():
        os.utime(mark, (month, month))
    drop(NODES[:1], place_again(parcel, tmp_path / "node"), parcel)
    assert Path(kept.path).exists()


def test_the_mark_of_a_killed_run_counts_for_a_week(parcel: Parcel, tmp_path: Path) -> None:
    parcel.file.chmod(0o644)
    killed = place_again(parcel, tmp_path / "node")
    (mark,) = (Path(killed.path).parent / "used").iterdir()
    for days, remains in ((6, True), (9, False)):
        os.utime(mark, (time.time() - days * 86400,) * 2)
        drop(NODES[:1], place_again(parcel, tmp_path / "node"), parcel)
        assert Path(killed.path).exists() is remains


def test_a_program_that_was_removed_meanwhile_is_carried(parcel: Parcel, tmp_path: Path) -> None:
    parcel.file.chmod(0o644)
    bases = (str(tmp_path / "node"),)
    first = place_again(parcel, tmp_path / "node")
    answers = ask_nodes(NODES[:1], parcel, bases)
    drop(NODES[:1], first, parcel)
    assert place(NODES[:1], parcel, bases, answers).carried == ("c1",)


def test_a_copy_that_fails_takes_nothing_from_another_run(parcel: Parcel, tmp_path: Path) -> None:
    """Both nodes share the folder; the second one's copy arrives damaged."""
    parcel.file.chmod(0o644)
    first = place_again(parcel, tmp_path / "node")
    words = ("put", parcel.sha256, str(tmp_path / "node"), parcel.name, "file", "other")
    done = subprocess.run(
        ["sh", "-c", script(), "sh", *words], input="cut off", capture_output=True, text=True
    )
    assert "damaged" in done.stdout
    assert Path(first.path).read_bytes() == parcel.file.read_bytes()
    folder = Path(first.path).parent
    assert sorted(entry.name for entry in folder.iterdir()) == [parcel.name, "used"]
    assert len(list((folder / "used").iterdir())) == 1


def test_nodes_with_a_shared_folder_do_not_write_to_one_file(
    parcel: Parcel, tmp_path: Path
) -> None:
    """The two nodes have equal process numbers: a shell of one number plays both."""
    put = script().rpartition('"$@"\n')[0]  # its functions alone
    folder = tmp_path / "node" / parcel.sha256[:DIGITS]
    words = f'"{parcel.sha256}" "{tmp_path / "node"}" "{parcel.name}" file'
    # While the first node's copy arrives, the second node puts its own, whole.
    play = f"""{put}
    wait_and_copy() {{ until [ -s "$2" ]; do sleep 0.05; done; cat "$1"; }}
    (uname() {{ echo one; }}; wait_and_copy "$@" | put {words} run) &
    until ls -A "{folder}" 2>/dev/null | grep -q new-; do sleep 0.05; done
    (uname() {{ echo two; }}; put {words} run <"$1"; ls -A "{folder}" >"$2")
    wait
    """
    seen = tmp_path / "seen"
    done = subprocess.run(
        ["sh", "-c", play, "sh", str(parcel.file), str(seen)], capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["have", f"{folder / parcel.name}"] * 2, done.stdout
    assert len([name for name in seen.read_text().split() if name.startswith(".new-")]) == 1
    assert sorted(path.name for path in (folder / "used").iterdir()) == ["run.one", "run.two"]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_nodes_that_lack_a_required_program_get_it(
    parcel: Parcel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel.file.chmod(0o644)  # no node can start it there
    base = tmp_path / "node"
    monkeypatch.setattr(carrying, "usual_bases", lambda _home: (str(base),))
    with required_on_nodes(parcel.file, NODES) as path:
        assert path.is_relative_to(base)
        assert path.read_bytes() == parcel.file.read_bytes()
        assert os.access(path, os.X_OK)
    assert not base.exists()
    parcel.file.chmod(0o755)
    with required_on_nodes(parcel.file, NODES) as path:
        assert path == parcel.file


def test_a_node_that_cannot_hold_a_required_program_is_named(
    parcel: Parcel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrying, "usual_bases", lambda _home: (str(tmp_path / "node"),))
    parcel.file.chmod(0o644)
    (tmp_path / "node").write_text("a file, where a folder is needed")
    with (
        pytest.raises(CannotRun, match=r"^c1 cannot hold fabricgauge-engine: "),
        required_on_nodes(parcel.file, NODES[:1]),
    ):
        pass


def put_and_link(tmp_path: Path, library: Path, *sonames: str) -> Path:
    """Put an archive as a job's step does; return the folder of the MPI's library in it."""
    archive = tmp_path / "programs.tar.gz"
    if not archive.exists():  # gzip stores the time
        tarfile.open(archive, "w:gz").close()
    digest, base = hashlib.sha256(archive.read_bytes()).hexdigest(), tmp_path / "base"
    words = ("put_and_link", digest, str(base), "carried", "run-1", str(tmp_path / "work"))
    with archive.open("rb") as content:
        done = subprocess.run(
            ["sh", "-c", script(), "sh", *words, str(library), *sonames],
            stdin=content, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert f"linked {library}" in done.stdout, done.stdout
    return base / digest[:DIGITS] / "lib"


def test_the_mpi_s_library_finds_what_lies_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "mpi"
    (folder / "mpich").mkdir(parents=True)
    (folder / "libnamed.so.12").write_bytes(b"MPICH Version: 5.0")
    linked = put_and_link(tmp_path, folder / "libnamed.so.12", "libnamed.so.12")
    assert linked.is_symlink() and (linked / "mpich").is_dir()  # its $ORIGIN/mpich


def test_a_library_of_another_name_gets_the_wanted_one(tmp_path: Path) -> None:
    (tmp_path / "mpi").mkdir()
    other = tmp_path / "mpi" / "libother.so.12"
    other.write_bytes(b"MPICH Version: 4.0")
    linked = put_and_link(tmp_path, other, "libnamed.so.12", "libother.so.12")
    assert [path.name for path in linked.iterdir()] == ["libnamed.so.12"]
    (tmp_path / "mpi" / "libnamed.so.12").write_bytes(b"MPICH Version: 5.0")
    alike = put_and_link(tmp_path, tmp_path / "mpi" / "libnamed.so.12", "libnamed.so.12")
    assert alike == linked and alike.is_symlink()
    put_and_link(tmp_path, other, "libnamed.so.13", "libother.so.12")
    assert [path.name for path in linked.iterdir()] == ["libnamed.so.13"]
    assert sorted(path.name for path in other.parent.iterdir()) == [
        "libnamed.so.12", "libother.so.12",
    ]  # fmt: skip


def test_shellcheck_finds_nothing_in_the_nodes_script() -> None:
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "--exclude=SC2317", "-"], input=script(), capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_changed_copy_is_replaced(parcel: Parcel, tmp_path: Path) -> None:
    bases = (str(tmp_path / "node"),)
    parcel.file.chmod(0o644)
    placed = place(NODES[:1], parcel, bases, ask_nodes(NODES[:1], parcel, bases))
    Path(placed.path).write_text("another program")
    answers = ask_nodes(NODES[:1], parcel, bases)
    assert placed.path not in answers["c1"].files
    assert place(NODES[:1], parcel, bases, answers).carried == ("c1",)
    assert Path(placed.path).read_bytes() == parcel.file.read_bytes()


def test_a_folder_of_others_is_refused_and_the_next_one_is_used(
    parcel: Parcel, tmp_path: Path
) -> None:
    parcel.file.chmod(0o644)
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    bases = (str(tmp_path / "link"), str(tmp_path / "node"))
    placed = place(NODES[:1], parcel, bases, ask_nodes(NODES[:1], parcel, bases))
    assert placed.base == bases[1] and not placed.failures
    assert not list(target.iterdir())
    only = place(NODES[:1], parcel, bases[:1], ask_nodes(NODES[:1], parcel, bases[:1]))
    assert "belongs to another user" in only.failures["c1"]


def test_a_full_disk_is_named(parcel: Parcel, tmp_path: Path) -> None:
    """The shell's limit on the size of files ends the copy as a full disk does."""
    limited = Host("c1", ("sh", "-c", 'trap "" XFSZ; ulimit -f 50; exec "$@"', "sh"))
    parcel.file.chmod(0o644)
    bases = (str(tmp_path / "node"),)
    placed = place([limited], parcel, bases, ask_nodes([limited], parcel, bases))
    assert "cannot hold the program" in placed.failures["c1"]
    assert not placed.carried and not list((tmp_path / "node").rglob(".new*"))


def test_a_node_that_is_not_reached_is_left_to_discovery(parcel: Parcel, tmp_path: Path) -> None:
    hosts = (Host("gone", ("false",)), Host("none", (str(tmp_path / "no-such-program"),)))
    answers = ask_nodes(hosts, parcel, ())
    assert not any(answer.answered for answer in answers.values())
    placed = place(hosts, parcel, (), answers)
    assert (placed.path, placed.failures) == (str(parcel.file), {})


def test_the_mpi_of_a_node_is_compared(parcel: Parcel, tmp_path: Path) -> None:
    library = tmp_path / "lib" / "libmpi.so.12"
    library.parent.mkdir()
    library.write_bytes(b"MPICH Version:\t%s\n\x000.13.99\x004.0.2\x00")
    helper = tmp_path / "hydra_pmi_proxy"
    helper.write_text("#!/bin/sh\n")
    helper.chmod(0o755)
    alike = MpiOfHead(
        str(library), hashlib.sha256(library.read_bytes()).hexdigest(), "MPICH 4.0.2",
        str(helper),
    )  # fmt: skip
    machine = os.uname().machine
    answers = ask_nodes(NODES, parcel, (), alike)
    assert not find_mpi_faults(answers, alike, machine)
    assert place(NODES, parcel, (), answers).path == str(parcel.file)
    other = MpiOfHead(str(library), "0" * 64, "MPICH 2.0 5.0.1", str(helper))
    faults = find_mpi_faults(ask_nodes(NODES[:1], parcel, (), other), other, machine)
    assert "MPICH 4.0.2" in faults["c1"] and "5.0.1" in faults["c1"]
    rebuilt = MpiOfHead(str(library), "0" * 64, "MPICH 3.0 4.0.2", str(helper))
    assert not find_mpi_faults(ask_nodes(NODES[:1], parcel, (), rebuilt), rebuilt, machine)
    lacking = MpiOfHead(str(tmp_path / "libmpi.so.99"), "0" * 64, "", str(tmp_path / "orted"))
    answers = ask_nodes(NODES[:1], parcel, (), lacking)
    assert (
        "lacks the MPI's library libmpi.so.99" in find_mpi_faults(answers, lacking, machine)["c1"]
    )
    assert not find_mpi_faults(answers, lacking, machine, exempt=("c1",))
    foreign = {"c1": NodeAnswer("c1", True, machine="aarch64")}
    assert "aarch64" in find_mpi_faults(foreign, lacking, "x86_64")["c1"]


#: Debian's MPIs, and those of the wheels, if this machine has them.
REAL_LIBRARIES = {
    "MPICH 4.0.2": Path("/usr/lib/x86_64-linux-gnu/libmpich.so.12"),
    "Open MPI 4.1.4": Path("/usr/lib/x86_64-linux-gnu/libmpi.so.40"),
    "MPICH 5.": ROOT / ".venv" / "lib" / "libmpi.so.12",
    "Open MPI 5.": ROOT / ".venv-openmpi5" / "lib" / "libmpi.so.40",
    "Intel MPI 20": ROOT / ".venv-impi" / "lib" / "libmpi.so.12",
}


@pytest.mark.parametrize(("version", "library"), REAL_LIBRARIES.items())
def test_a_real_library_states_its_version(version: str, library: Path) -> None:
    if not library.exists():
        pytest.skip(f"{library} is not installed")
    assert read_versions(library).startswith(version)


@given(st.text())
def test_no_output_of_a_node_raises(text: str) -> None:
    answer = parse_node_answer("c1", text)
    words = [line.partition(" ")[0] for line in text.splitlines()]
    assert answer.answered == ("end" in words or "fail" in words)
    assert len(answer.files) <= words.count("have")


def test_lines_of_a_profile_do_not_hide_the_answer() -> None:
    text = "Welcome to c1!\nhave /tmp/x\nmachine x86_64\nlibrary none\nhelper none\nend\n"
    answer = parse_node_answer("c1", text)
    assert answer.answered and answer.files == {"/tmp/x"}
    assert not answer.has_library and not answer.has_helper
