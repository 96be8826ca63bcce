"""One program at a time measures a lab."""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.check.commands import until
from tests.lab.conftest import MakeLab
from tests.lab.test_place import lab_file, runtime

from fabricgauge.cli.lab import lab as command
from fabricgauge.lab import state
from fabricgauge.lab.faults import inject
from fabricgauge.lab.host_access import describe_use, entry, hold_lab, lab_in_use, process_using
from fabricgauge.lab.state import LabFault, LabState
from fabricgauge.model.errors import LabError, UsageError

__all__ = ["runtime"]


def test_a_second_program_is_refused_while_the_first_measures(runtime: Path) -> None:
    lab_file(runtime, "t-lab-used", "/nowhere")
    with lab_in_use("t-lab-used"):
        assert process_using("t-lab-used") == str(os.getpid())
        with pytest.raises(UsageError, match=f"process {os.getpid()} measures lab 't-lab-used'"):
            lab_in_use("t-lab-used").__enter__()
    assert process_using("t-lab-used") == ""
    with lab_in_use("t-lab-used"):
        pass


def test_a_lab_that_does_not_exist_cannot_be_used(runtime: Path) -> None:
    with pytest.raises(LabError, match="no lab named 't-lab-none'"):
        lab_in_use("t-lab-none").__enter__()
    assert process_using("t-lab-none") == ""


def test_down_all_keeps_a_lab_in_use(runtime: Path) -> None:
    for name in ("t-lab-idle", "t-lab-used"):
        lab_file(runtime, name, "/nowhere")
    with lab_in_use("t-lab-used"):
        done = CliRunner().invoke(command, ["down", "--all"])
    assert done.exit_code == 0
    assert "lab t-lab-idle: removed" in done.output
    assert f"lab t-lab-used: kept, since process {os.getpid()} " in done.output
    assert state.names() == ("t-lab-used",)


@pytest.mark.parametrize("name", ["$(id)", "a;b", "`id`", "a b", "-x", "a'b"])
def test_up_refuses_a_node_that_is_not_a_hostname(runtime: Path, name: str) -> None:
    done = CliRunner().invoke(command, ["up", "--nodes", f"c1,{name}"])
    assert isinstance(done.exception, UsageError)
    assert not state.names()


@pytest.mark.lab
def test_a_program_on_a_node_is_a_use_and_an_idle_lab_has_none(make_lab: MakeLab) -> None:
    lab = make_lab()
    inject(lab, LabFault("drops", "c2", "net1", 5.0))  # starts a process of the lab's own
    assert describe_use(lab.name) == ""
    with subprocess.Popen([*entry(lab, "c1"), "sleep", "60"]) as program:
        until(lambda: bool(describe_use(lab.name)), 10, "the program on the node")
        assert describe_use(lab.name) == f"process {program.pid} runs in it"
        program.kill()
    assert describe_use(lab.name) == ""


@pytest.mark.lab
@pytest.mark.slow
def test_idle_daemons_of_slurm_are_no_use_and_a_job_is(slurm_lab: LabState) -> None:
    assert describe_use(slurm_lab.name) == ""
    with subprocess.Popen([*entry(slurm_lab, "head"), "srun", "-N1", "sleep", "60"]) as job:
        until(lambda: bool(describe_use(slurm_lab.name)), 20, "the job")
        job.terminate()


def test_a_lab_that_comes_up_is_in_use(runtime: Path) -> None:
    lab_file(runtime, "t-lab-new", "/nowhere")
    with hold_lab("t-lab-new"):
        done = CliRunner().invoke(command, ["down", "--all"])
    assert "lab t-lab-new: kept" in done.output
