"""A dead node or pair is named, and everything else is measured in the same command."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked, Lab, fabricgauge, until

pytestmark = [pytest.mark.lab, pytest.mark.engine]

DEAD_PAIR = ("ip", "route", "add", "blackhole", "10.77.0.13")


def checked(name: str, output: Path) -> Checked:
    return Checked(fabricgauge("check", "--lab", name, "-o", str(output)), output)


@pytest.mark.slow
def test_a_dead_pair_of_four_is_named_and_both_of_its_nodes_are_measured(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "4")
    fabricgauge("lab", "exec", "--name", name, "c2", "--", *DEAD_PAIR)
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert run.outcomes("connect") == {"FAIL"}
    assert "between c2:eth0 and c3:eth0" in run.words("connect")
    assert run.outcomes("coverage") == {"PASS"}


@pytest.mark.slow
def test_a_dead_node_of_three_is_named_and_the_others_are_measured(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "3")
    fabricgauge("lab", "fault", "--name", name, "link-down", "c3", "net1")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert "c3:eth0" in run.words("connect")
    assert '"nodes":["c1","c2"]' in (run.path / "launches.jsonl").read_text()
    assert run.outcomes("path") == {"PASS"}


@pytest.mark.slow
def test_two_nodes_that_cannot_connect_are_named_without_a_launch(lab: Lab, tmp_path: Path) -> None:
    name = lab("--nodes", "2")
    fabricgauge("lab", "exec", "--name", name, "c1", "--", *DEAD_PAIR[:-1], "10.77.0.12")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert run.outcomes("connect") == {"FAIL"}
    assert not list(run.path.glob("raw/launch-*"))


def test_a_route_of_both_nodes_over_another_network_is_the_headline(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "2", "--network", "net1:1G", "--network", "net2:1G")
    for node, other in (("c1", "10.77.0.12"), ("c2", "10.77.0.11")):
        route = ("ip", "route", "add", f"{other}/32", "dev", "eth1")
        fabricgauge("lab", "exec", "--name", name, node, "--", *route)
    done = fabricgauge("check", "--lab", name, "--network", "net1", "-o", str(tmp_path))
    run = Checked(done, tmp_path)
    assert run.status == 1, run.text
    first = " ".join(done.stdout.split("\n\n")[0].split())
    assert "FAIL net1, c1:eth0 and c2:eth0: packets to net1 leave by eth1" in first
    words = run.words("launch")
    assert "10.77.0.12" in words and "10.77.0.11" in words and "eth1" in words


def test_a_wrong_hosts_entry_that_keeps_the_launcher_from_a_node_is_named(
    lab: Lab, fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab("--nodes", "2")
    fault(name, "hosts", "c1", "net1", "head=10.77.0.99")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert run.outcomes("launch") == {"FAIL"}
    assert "net1, c1: resolves head and head-net1 to 10.77.0.99" in run.text
    assert "10.77.0.99" in run.words("launch")


#: Sends a signal to the rank of a node: nodes of a lab share /proc, but not the network namespace.
SIGNAL_RANK = (
    'here=$(readlink /proc/self/ns/net); for p in /proc/[0-9]*; do'
    ' read -r name 2>/dev/null <$p/comm || continue; [ "$name" = fabricgauge-eng ] &&'
    ' [ "$(readlink $p/ns/net)" = "$here" ] && kill -$1 ${p#/proc/}; done; true'
)  # fmt: skip


def records(root: Path) -> int:
    """How many rounds and cases are safely in the run's results."""
    lines = [line for file in root.glob("2*/results.jsonl") for line in file.open()]
    return sum(kind in line for line in lines for kind in ('"round"', '"case"'))


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        (("c3", "sh", "-c", SIGNAL_RANK, "signal", "KILL"), "c3: its rank was ended by SIGKILL"),
        pytest.param(
            ("c3", "sh", "-c", SIGNAL_RANK, "signal", "STOP"), "its rank is stopped by a signal",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("c2", *DEAD_PAIR), "no TCP connection works between them since launch 1 broke",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_who_breaks_a_launch_in_mid_run_is_named_and_the_others_measure_the_rest(
    lab: Lab,
    start: Callable[..., "subprocess.Popen[str]"],
    tmp_path: Path,
    planted: tuple[str, ...],
    named: str,
) -> None:
    name = lab("--nodes", "4")
    child = start("--lab", name)
    until(lambda: records(tmp_path) >= 2, 60, "two records")
    fabricgauge("lab", "exec", "--name", name, planted[0], "--", *planted[1:])
    out, err = child.communicate(timeout=240)
    done = subprocess.CompletedProcess((), child.returncode, out, err)
    run = Checked(done, tmp_path)
    assert run.status == 1, run.text
    assert run.outcomes("launch") == {"FAIL"}
    assert named in f"{run.words('launch')} {run.words('completeness')}"
    assert run.outcomes("path") == {"PASS"}
    assert "FAIL" in out.splitlines()[0]
    assert "c3" in " ".join(out.splitlines()[:2])
    launches = (run.path / "launches.jsonl").read_text().splitlines()
    assert len(launches) > 1
    assert (
        "c3" not in launches[1].split('"ended"')[0] or "c2" not in launches[1].split('"ended"')[0]
    )


@pytest.mark.slow
def test_a_node_with_an_address_of_the_head_is_named_with_it(lab: Lab, tmp_path: Path) -> None:
    name = lab("--nodes", "4")
    fabricgauge("lab", "fault", "--name", name, "address", "c3", "net1", "10.77.0.1/24")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert "c3:eth0" in run.text and "10.77.0.1 of head:" in run.text
    assert not {"c1", "c2", "c4"} & set(run.words("connect").replace(":", " ").split())
