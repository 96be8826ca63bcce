"""Jobs that run check itself: the words of their check, their script, and what is refused."""

import shlex
from pathlib import Path

import pytest

from fabricgauge.features.jobs.check_job import check_words, script_of, with_nodes
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest


def test_the_job_s_check_gets_what_was_asked_for() -> None:
    request = MeasurementRequest(
        tool="imb:PingPong", tool_path="/opt/imb", network=("net1", "net2"), unpinned=True,
        launches=3, nodelist="c[1-2]",
    )  # fmt: skip
    words = check_words(request, "", Path("/runs"))
    assert words[1:6] == ("-m", "fabricgauge", "check", "--launcher", "slurm")
    assert words[6:] == (
        "--tool", "imb:PingPong", "--tool-path", "/opt/imb", "--network", "net1", "--network",
        "net2", "--unpinned", "--launches", "3", "--output", "/runs", "--quiet",
    )  # fmt: skip


def test_a_campaign_is_handed_on_by_name_or_whole_path(tmp_path: Path) -> None:
    by_name = check_words(MeasurementRequest(), "validation", tmp_path)
    assert by_name[6:8] == ("--campaign", "validation")
    file = tmp_path / "mine.toml"
    file.touch()
    assert str(file.resolve()) in check_words(MeasurementRequest(), str(file), tmp_path)


def test_an_option_that_the_check_would_not_get_is_refused() -> None:
    with pytest.raises(UsageError, match="--sizes has no effect on a job that runs check"):
        check_words(MeasurementRequest(tool="osu", sizes=(8,)), "", Path("/runs"))


def test_no_word_is_read_by_the_job_s_shell() -> None:
    words = check_words(MeasurementRequest(tool="osu", network=("a; $(b)'c",)), "", Path("/r s"))
    line = script_of(words, Path("/r s/jobs")).splitlines()[-1]
    assert shlex.split(line.removeprefix("exec "))[: len(words)] == list(words)


def test_a_job_has_two_nodes_unless_others_are_stated() -> None:
    request = MeasurementRequest(ppn=4)
    assert with_nodes(Request(0), request, ()).nodes == 2
    assert with_nodes(Request(0), request, ("c1", "c2", "c3")).nodes == 3
    assert with_nodes(Request(8), request, ()).ppn == 4
