import os
from pathlib import Path

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.check.notes import _hash, carries_messages, note_libraries, note_transports
from fabricgauge.model.measurement import Header, Timer
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About, load, write_beginning


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ("/usr/lib/libmpi.so.40.30.4", True),
        ("/opt/intel/lib/libtcp-fi.so", True),
        ("/usr/lib/openmpi/mca_btl_tcp.so", True),
        ("/usr/lib/openmpi/mca_shmem_mmap.so", False),
        ("/usr/lib/libuct_ib.so.0", True),
        ("/usr/lib/libc.so.6", False),
        ("/home/libmpi/libm.so.6", False),
    ],
)
def test_what_carries_messages_is_told_by_its_name(path: str, does: bool) -> None:
    assert carries_messages(path) == does


def test_a_name_that_is_no_plain_file_is_not_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pipe = tmp_path / "libmpi.so"
    os.mkfifo(pipe)
    assert _hash(str(pipe)) == ""


def test_libraries_are_written_down_with_hashes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    library = tmp_path / "libmpi.so.12"
    library.write_bytes(b"abc")
    header = Header(
        "fabricgauge-engine", "1.2", "0", "MPICH", "4.1", "GNU", 2, "2026", Timer("c", 1e-9, 1e-8),
        libraries=(str(library), "/gone/libfabric.so.1", "/usr/lib/libc.so.6"),
    )  # fmt: skip
    run = planted.run(planted.sound_launches())
    launches = (msgspec.structs.replace(run.launches[0], header=header), *run.launches[1:])
    directory = RunDirectory.create(tmp_path / "runs")
    write_beginning(directory, About("", (), {"MPI": "x"}), run.fabric, run.plan)
    note_libraries(directory, msgspec.structs.replace(run, launches=launches))
    told = load(directory).environment
    assert told["library libmpi.so.12"] == f"{library}, SHA-256 ba7816bf8f01cfea"
    assert told["library libfabric.so.1"] == "/gone/libfabric.so.1, SHA-256 not known"
    assert "library libc.so.6" not in told
    assert told["MPI"] == "x"


def test_what_the_mpi_says_that_it_uses_is_written_down(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = planted.run(planted.sound_launches())
    directory = RunDirectory.create(tmp_path / "runs")
    about = About("", (), {"MPI": "openmpi 4.1.4"})
    write_beginning(directory, about, run.fabric, run.plan)
    folder = directory.raw(f"launch-{run.launches[0].number:02}-1")
    (folder / "stdout.jsonl").write_text('{"record": "mca: bml: Using ib btl for send to x"}\n')
    note_transports(directory, msgspec.structs.replace(run, environment=about.environment))
    assert not (directory.path / "transports.json").exists()
    (folder / "stderr.txt").write_text(
        "[c1:1] mca: bml: Using tcp btl for send to [[1,1],1] on node c2\n"
        "[c2:1] mca: bml: Using vader btl for send to [[1,1],1] on node c2\n"
    )
    note_transports(directory, msgspec.structs.replace(run, environment=about.environment))
    network = run.launches[0].network
    assert load(directory).environment[f"carried by, over {network}"] == "btl tcp, btl vader"


def test_what_ucx_says_of_gpu_memory_is_written_down(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = planted.run(planted.sound_launches())
    directory = RunDirectory.create(tmp_path / "runs")
    about = About("", (), {"MPI": "mpich 5.0.2"})
    write_beginning(directory, about, run.fabric, run.plan)
    folder = directory.raw(f"launch-{run.launches[0].number:02}-1")
    name = "published-1.12--osu-cuda-staged.out"
    table = Path(__file__).parents[1] / "fixtures" / "ucx_protocols" / name
    (folder / "stderr.txt").write_text(table.read_text())
    on_gpu = msgspec.structs.replace(run.plan, memory="cuda")
    note_transports(
        directory, msgspec.structs.replace(run, plan=on_gpu, environment=about.environment)
    )
    told = load(directory).carried_by(run.launches[0].network or "")
    assert told.startswith(
        "cuda/GPU0 from 811556 B staged through host memory (rendezvous pipeline"
    )
