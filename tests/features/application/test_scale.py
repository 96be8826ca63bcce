"""An application on more and more nodes of a lab: placement, path and time of each launch."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.check.commands import fabricgauge
from tests.docs.json_schemas import require_fit
from tests.features.application.test_profile import SOURCES
from tests.live import hide
from tests.nodes.engines.launched import engine_for

from fabricgauge.nodes.engines.build import cache_folder

pytestmark = [pytest.mark.lab]

#: 64 messages of 64 KiB from each rank.
SENT_BYTES = 64 * 65536


def built(folder: Path, kind: str) -> Path:
    made = folder / "stream"
    argv = [str(engine_for(kind).mpi.mpicxx), str(SOURCES / "stream.cpp"), "-o", str(made)]
    subprocess.run(argv, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("scaled"), "embedded")


def scaled(where: Path, program: Path, *options: str) -> tuple[int, dict[str, Any]]:
    report = where / "scale-report.json"
    done = fabricgauge("scale", "-q", "-o", str(where), "--format", "json", "--to", str(report),
                       *options, "--", str(program))  # fmt: skip
    assert report.exists(), done.stderr
    document = json.loads(report.read_text())
    require_fit("scale", document)
    return done.returncode, document


def test_each_launch_is_proved_by_what_the_application_sent(
    tmp_path: Path, program: Path, lab: Callable[..., str]
) -> None:
    status, report = scaled(tmp_path, program, "--lab", lab(), "--at", "1,2", "--launches", "2")
    assert (status, report["overall"]) == (0, "PASS"), report
    one, two = report["scale"]["points"]
    assert (one["outcome"], two["outcome"]) == ("SKIPPED", "PASS")
    assert one["speedup"]["value"] == 1.0
    assert two["efficiency"]["value"] == pytest.approx(two["speedup"]["value"] / 2)
    for launch in report["scale"]["launches"]:
        away = len(set(launch["nodes"])) > 1
        assert launch["left_node_bytes"] == (2 * SENT_BYTES if away else 0)
        assert 0 < launch["mpi_share"] <= 1
        assert {v["rule"] for v in launch["verdicts"]} == ({"placement", "path"} if away else set())
    again = fabricgauge("report", "-o", str(tmp_path), "--format", "json")
    assert json.loads(again.stdout)["scale"] == report["scale"], again.stderr


@pytest.mark.slow
def test_a_launch_over_the_wrong_network_is_invalid(
    tmp_path: Path, lab: Callable[..., str]
) -> None:
    """The setting that is varied overrides the network that Open MPI's ranks are bound to."""
    program = built(tmp_path, "openmpi")
    name = lab("--network", "net1:1G", "--network", "net2:1G")
    status, report = scaled(
        tmp_path, program, "--lab", name, "--network", "net1", "--at", "2", "--launches", "1",
        "--vary", "env:OMPI_MCA_btl_tcp_if_include=,10.77.1.0/24",
    )  # fmt: skip
    assert (status, report["overall"]) == (3, "INVALID"), report
    right, wrong = report["scale"]["points"]
    assert (right["outcome"], wrong["outcome"]) == ("PASS", "INVALID")
    assert wrong["time"]["type"] == "skipped", "what is not valid is no figure"
    assert "eth1" in wrong["summary"]


def test_more_nodes_than_there_are_is_wrong_usage(
    tmp_path: Path, program: Path, lab: Callable[..., str]
) -> None:
    done = fabricgauge("scale", "-q", "-o", str(tmp_path), "--lab", lab(), "--at", "3", "--",
                       str(program))  # fmt: skip
    assert done.returncode == 2
    assert "--at 3" in done.stderr and "2 nodes" in done.stderr


def test_a_launcher_in_front_of_the_program_is_wrong_usage(
    tmp_path: Path, program: Path, lab: Callable[..., str]
) -> None:
    done = fabricgauge("scale", "-q", "-o", str(tmp_path), "--lab", lab(), "--", "mpirun", "-n",
                       "2", str(program))  # fmt: skip
    assert done.returncode == 2
    assert "remove mpirun and its options" in done.stderr


@pytest.mark.slow
def test_nodes_that_share_no_folder_get_the_recorder(
    tmp_path: Path, program: Path, lab: Callable[..., str]
) -> None:
    name = lab()
    hide(name, cache_folder(), tmp_path)
    status, report = scaled(tmp_path, program, "--lab", name, "--at", "1,2", "--launches", "1")
    assert (status, report["overall"]) == (0, "PASS"), report
    sent = [launch["left_node_bytes"] for launch in report["scale"]["launches"]]
    assert sorted(sent) == [0, 2 * SENT_BYTES]
