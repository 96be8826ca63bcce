"""Stacks and settings measured in turns, on a lab."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, Lab, fabricgauge, until

pytestmark = [pytest.mark.lab, pytest.mark.engine]

#: Little, but in enough blocks.
FEW = ("--patterns", "latency", "--sizes", "8,1K", "--case-budget", "0.05", "--launches", "7")


def compared(root: Path, lab: str, *words: str) -> tuple[int, dict, str]:  # type: ignore[type-arg]
    """Exit status, the JSON document, and what was said besides."""
    where = ("--lab", lab, "-o", str(root), "--format", "json")
    done = fabricgauge("compare", *where, *words, timeout_s=800)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.mark.slow
def test_arms_take_turns_and_each_is_a_run(lab: Lab, tmp_path: Path) -> None:
    status, found, said = compared(tmp_path, lab(), *FEW, "--vary", "mpi=mpich,openmpi")
    assert found["varied"]["finding"].upper() in (
        "WORSE",
        "DIFFERENT",
        "NO DIFFERENCE",
        "UNDECIDED",
    )
    assert status == {"worse": 1, "undecided": 3}.get(found["varied"]["finding"], 0), said
    (directory,) = tmp_path.glob("2*")
    arms = sorted(directory.glob("2*/verdicts.json"))
    assert len(arms) == 2
    mpis = {json.loads((arm.parent / "run.json").read_text())["environment"]["MPI"] for arm in arms}
    assert {one.split()[0] for one in mpis} == {"mpich", "openmpi"}
    (effect,) = found["varied"]["effects"]
    assert [one["blocks"] for one in effect["sizes"]] == [7, 7]
    assert (directory / "report.html").exists()


def test_a_variable_that_pinning_sets_is_no_factor(lab: Lab, tmp_path: Path) -> None:
    name = lab()
    status, _, said = compared(tmp_path, name, *FEW, "--vary", "env:UCX_NET_DEVICES=eth0,lo")
    assert (status, "--unpinned" in said) == (2, True), said
    assert not list(tmp_path.iterdir())


def test_variables_and_bindings_reach_the_ranks_as_data(lab: Lab, tmp_path: Path) -> None:
    hostile = "$(touch x) ;'\""
    words = ("--vary", f"env:HARMLESS=plain,{hostile}", "--vary", "bind=none,core")
    short = ("--patterns", "latency", "--sizes", "8", "--case-budget", "0.02", "--launches", "1")
    status, found, said = compared(tmp_path, lab(), *short, *words)
    assert status == 3, said
    assert found["varied"]["finding"] == "undecided"
    commands = [json.loads(one.read_text()) for one in tmp_path.rglob("command.json")]
    assert sum(f"HARMLESS={hostile}" in one["argv"] for one in commands) == 2
    assert not list(tmp_path.rglob("x"))


def test_an_mpi_that_is_not_there_is_said_before_anything_is_measured(
    lab: Lab, tmp_path: Path
) -> None:
    status, _, said = compared(tmp_path, lab(), *FEW, "--vary", "mpi=mpich,nosuch")
    assert status == 2
    assert "nosuch" in said
    assert not list(tmp_path.glob("2*"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--vary", "mpi=mpich"), "two levels"),
        (("a.log", "b.log", "--vary", "mpi=mpich,openmpi"), "leave A and B out"),
        (("a.log",), "needs A and B"),
        (("--lab", "no-such", "--vary", "colour=red,blue"), "available: mpi, "),
    ],
)
def test_a_wrong_command_line_is_explained(words: tuple[str, ...], text: str) -> None:
    done = fabricgauge("compare", *words)
    assert done.returncode == 2
    assert text in done.stderr


@pytest.mark.slow
def test_a_comparison_that_is_broken_off_is_finished_later(lab: Lab, tmp_path: Path) -> None:
    short = ("--patterns", "latency", "--sizes", "8", "--case-budget", "0.05", "--launches", "4")
    words = ("compare", "--lab", lab(), "-o", str(tmp_path), "--vary", "env:A=1,2", *short)
    with subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        until(lambda: bool(list(tmp_path.glob("*/*/raw/launch-02-1"))), 60, "the second block")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    (directory,) = tmp_path.glob("2*.partial")
    assert f"--resume {directory}" in said
    for other in (("--seed", "9"), ("--launches", "5"), ("--vary", "env:A=2,1"), ("--sizes", "16")):
        refused = fabricgauge(*words, *other, "--resume", str(directory))
        assert (refused.returncode, other[0] in refused.stderr) == (2, True), refused.stderr
    done = fabricgauge(*words, "--resume", str(directory), "--format", "json", timeout_s=200)
    assert done.returncode == 3, done.stderr  # four blocks decide nothing
    (effect,) = json.loads(done.stdout)["varied"]["effects"]
    assert [one["blocks"] for one in effect["sizes"]] == [4]
    assert directory.with_suffix("").is_dir()


@pytest.mark.slow
def test_layers_of_one_network_are_held_against_each_other(lab: Lab, tmp_path: Path) -> None:
    layers = "transport=sockets,ofi:provider=tcp;ofi_rxm,mpi"
    status, found, said = compared(tmp_path, lab(), *FEW, "--vary", layers)
    assert status in (0, 1, 3), said
    ledger = found["varied"]["layers"]
    assert [one["level"] for one in ledger[:3]] == ["sockets", "ofi:provider=tcp;ofi_rxm", "mpi"]
    assert {one["message_bytes"] for one in ledger} == {8, 1024}
    assert [one["added"] is None for one in ledger[:3]] == [True, False, False]
    ways = [json.loads(one.read_text()) for one in tmp_path.rglob("transports.json")]
    told = " ".join(way for one in ways for way in one.values())
    assert "TCP sockets between" in told
    assert "provider tcp;ofi_rxm by eth0" in told


def test_what_no_transport_can_do_is_refused_before_anything_is_measured(
    lab: Lab, tmp_path: Path
) -> None:
    words = ("--patterns", "put_latency", "--vary", "transport=mpi,sockets")
    status, _, said = compared(tmp_path, lab(), *words)
    assert (status, "sockets" in said and "put_latency" in said) == (2, True), said
    assert not list(tmp_path.iterdir())
