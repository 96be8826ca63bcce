"""A report of buffers on a GPU shows what copies between it and its host carry."""

import msgspec
import pytest
from tests.report import sample

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import CopyTimes
from fabricgauge.report.formats import report


def judged() -> Judged:
    """Copies of c1 in all launches, the best in the last; none of the other node."""
    usual = sample.judged()
    launches = []
    for number, launch in enumerate(usual.run.launches, 1):
        first, *rest = launch.placements
        copies = tuple(
            CopyTimes(size, size / (number * 1e9), size / (number * 2e9))
            for size in sample.SIZES
            if size
        )
        placed = (msgspec.structs.replace(first, copies=copies), *rest)
        launches.append(msgspec.structs.replace(launch, placements=placed))
    run = msgspec.structs.replace(usual.run, launches=tuple(launches))
    return msgspec.structs.replace(usual, run=run, evidence=gather_evidence(run))


@pytest.mark.parametrize("format_name", ["html", "markdown", "terminal"])
def test_copies_stand_beside_the_figures(format_name: str) -> None:
    given, best = judged(), len(sample.judged().run.launches)
    told = report(given, format_name).replace("\N{NO-BREAK SPACE}", " ")
    assert "Copies between GPU and host" in told
    assert f"{best * 2000:,}" in told and f"{best * 1000:,}" in told


def test_a_report_of_host_memory_has_no_word_of_copies() -> None:
    assert "Copies between GPU" not in report(sample.judged(), "html")
