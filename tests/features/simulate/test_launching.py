"""The command line of a simulated launch and its files."""

from pathlib import Path

import pytest

from fabricgauge.features.simulate.simulator import (
    launch_command,
    launch_files,
    prepared,
    simulation,
)
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun

MPI = Mpi("simgrid", "3.32", Path("/usr/bin/smpicxx"), Path("/usr/lib/simgrid/smpimain"))
ENGINE = Engine(Path("/cache/abc/fabricgauge-engine"), MPI, "abc", (), "c++ 12")
FOLDER = Path("/runs/with blank/launch-01")


def test_a_command_names_program_settings_platform_and_options_in_this_order() -> None:
    command = launch_command(simulation("star:4"), ENGINE, 4, FOLDER, ("--iterations", "3"))
    main, program, *rest = command.argv
    assert (main, program) == ("/usr/lib/simgrid/smpimain", "/cache/abc/fabricgauge-engine")
    assert rest[-3:] == ["/cache/abc/libfabricgauge-planted.so", "--iterations", "3"]
    assert all(word.startswith(("--cfg=", "--log=")) for word in rest[:-3])
    assert f"--cfg=smpi/hostfile:{FOLDER}/hosts.txt" in rest
    assert "--cfg=smpi/np:4" in rest
    assert command.env == {"FABRICGAUGE_PLANTED": f"{FOLDER}/planted.txt"}


def test_hosts_are_in_the_order_of_ranks() -> None:
    hosts = ("node-2", "node-2", "node-0")
    files = launch_files(simulation("star:4"), hosts, FOLDER)
    assert files["hosts.txt"] == "node-2\nnode-2\nnode-0\n"
    assert files["planted.txt"].startswith(f"platform {FOLDER}/platform.xml\n")
    assert "<cluster " in files["platform.xml"]


@pytest.mark.parametrize("hosts", [(), ("node-4",), ("node-0", "c1")])
def test_a_launch_fails_when_the_cluster_has_no_such_node(hosts: tuple[str, ...]) -> None:
    with pytest.raises(CannotRun, match="simulated cluster star:4"):
        launch_files(simulation("star:4"), hosts, FOLDER)


def test_a_launch_fails_when_a_path_breaks_its_line() -> None:
    with pytest.raises(CannotRun, match="new line"):
        launch_files(simulation("star:4"), ("node-0",), Path("/a\nb"))


def test_files_lie_where_the_command_says(tmp_path: Path) -> None:
    cluster = simulation("star:4")
    command = prepared(cluster, ENGINE, cluster.platform.nodes, tmp_path / "new" / "one")
    planted = Path(command.env["FABRICGAUGE_PLANTED"])
    named = planted.read_text().splitlines()[0].removeprefix("platform ")
    assert Path(named).read_text() == cluster.platform.xml
