"""A dead node or pair is named, and everything else is measured in the same command."""

from pathlib import Path

import pytest
from tests.app.commands import Checked, Lab, fabricgauge

pytestmark = [pytest.mark.lab, pytest.mark.engine]

DEAD_PAIR = ("ip", "route", "add", "blackhole", "10.77.0.13")


def checked(name: str, output: Path) -> Checked:
    return Checked(fabricgauge("check", "--lab", name, "-o", str(output)), output)


def measured(run: Checked) -> set[str]:
    """Nodes of which a series was judged."""
    words = run.words("fraction")
    return {node for node in ("c1", "c2", "c3", "c4") if node in words}


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


def test_a_dead_node_of_three_is_named_and_the_others_are_measured(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "3")
    fabricgauge("lab", "fault", "--name", name, "link-down", "c3", "net1")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert "c3:eth0" in run.words("connect")
    assert measured(run) >= {"c1", "c2"}


def test_two_nodes_that_cannot_connect_are_named_without_a_launch(lab: Lab, tmp_path: Path) -> None:
    name = lab("--nodes", "2")
    fabricgauge("lab", "exec", "--name", name, "c1", "--", *DEAD_PAIR[:-1], "10.77.0.12")
    run = checked(name, tmp_path)
    assert run.status == 1, run.text
    assert run.outcomes("connect") == {"FAIL"}
    assert not list(run.path.glob("raw/launch-*"))
