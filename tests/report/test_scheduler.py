"""Lines for Slurm: one for each bad node, none for a suspect, none that a name could turn."""

import shlex

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report import fabric_sample, sample

from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.report.content.at_fault import LONGEST_REASON, bad_nodes
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting


def lines(judged: Judged, name: str = "terminal") -> list[str]:
    text = report(judged, name, Setting(width=100))
    return [one for one in text.splitlines() if "scontrol update" in one]


def dead(node: str, summary: str = "net1: nothing connects to it; the rest was measured") -> Judged:
    about = VerdictSubject("place", "net1", (node,), place=node)
    verdict = Verdict(
        rule="connect",
        outcome=Outcome.FAIL,
        subject=node,
        summary=summary,
        network="net1",
        about=about,
    )
    judged = msgspec.structs.replace(sample.judged(), verdicts=(verdict,))
    nodes = tuple(
        msgspec.structs.replace(one, name=node) if not place else one
        for place, one in enumerate(judged.run.fabric.nodes)
    )
    fabric = msgspec.structs.replace(judged.run.fabric, nodes=nodes)
    run = msgspec.structs.replace(judged.run, fabric=fabric)
    return msgspec.structs.replace(judged, run=run)


def test_a_node_that_is_named_as_slow_has_a_line() -> None:
    (line,) = lines(fabric_sample.judged(fabric_sample.names(8)))
    words = shlex.split(line)
    assert words[:4] == ["scontrol", "update", "nodename=n3", "state=drain"]
    assert words[4] == "reason=fabricgauge: net1 bandwidth at 1 MiB 75.0 % lower"


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_a_dead_node_has_a_line_in_every_format_for_people(name: str) -> None:
    assert len(lines(dead("c1"), name)) == 1


def test_a_healthy_fabric_and_one_with_suspects_only_have_none() -> None:
    assert lines(fabric_sample.judged(fabric_sample.names(8), slow=None)) == []
    found = fabric_sample.judged(fabric_sample.names(8))
    (named,) = bad_nodes(found)
    about = VerdictSubject("node", "net1", (named,))
    unsure = Verdict(
        rule="outliers",
        outcome=Outcome.INCONCLUSIVE,
        subject=named,
        summary="not confirmed",
        about=about,
    )
    assert lines(msgspec.structs.replace(found, verdicts=(unsure,))) == []


@pytest.mark.parametrize(
    "node", ["c1;reboot", "c[1-4]", "c1,c2", "$(id)", "-c", "c1 state=idle", "ö"]
)
def test_a_name_that_slurm_could_misread_is_refused(node: str) -> None:
    judged = dead(node)
    assert lines(judged) == []
    assert "not a valid node name" in report(judged, "terminal", Setting(width=140))


@given(st.text())
def test_a_reason_is_one_word_of_a_shell_and_short(summary: str) -> None:
    (line,) = [one for one in lines(dead("c1", summary)) if "nodename=c1" in one]
    words = shlex.split(line)
    assert len(words) == 5
    assert len(words[4]) <= len("reason=") + LONGEST_REASON
    assert not set(words[4]) & set("\\'`$\"")


def test_a_node_that_is_below_the_ceiling_with_everybody_has_a_line() -> None:
    about = VerdictSubject("node", "net1", ("c1",))
    said = "9.9 % of the ceiling with each of its partners; other pairs reach 99.6 %"
    verdict = Verdict(
        rule="pairs", outcome=Outcome.FAIL, subject="c1", summary=said, network="net1", about=about
    )
    judged = msgspec.structs.replace(sample.judged(), verdicts=(verdict,))
    assert bad_nodes(judged) == {"c1": "net1 9.9 % of the ceiling with each of its partners"}
