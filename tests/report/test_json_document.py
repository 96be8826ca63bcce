import json

import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.report.content.run_data import RunDocument
from fabricgauge.report.formats import report


def document() -> str:
    return report(sample.judged(), "json")


def test_the_document_says_what_it_is_first() -> None:
    assert document().startswith('{"format":"fabricgauge-report","version":"1.5","overall":"PASS"')


def test_the_document_holds_the_whole_judged_run() -> None:
    judged = sample.judged()
    read = msgspec.json.decode(document(), type=RunDocument)
    assert (read.run, read.curves, read.ceilings) == (judged.run, judged.curves, judged.ceilings)
    assert read.verdicts == judged.verdicts


def test_another_format_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(document().replace("fabricgauge-report", "other", 1), type=RunDocument)


def test_the_structure_is_the_documented_one() -> None:
    read = json.loads(document())
    assert list(read) == [
        "format", "version", "overall", "headline", "virtual", "judged_utc", "rules_version",
        "verdicts", "ceilings", "curves", "run", "against",
        "simulated", "matrices", "together", "wire", "tables",
    ]  # fmt: skip
    assert list(read["curves"][0]["points"][0]) == [
        "message_bytes", "window", "time", "bandwidth", "p99_s", "minimum_s", "maximum_s",
    ]  # fmt: skip
    assert read["ceilings"]["net1"]["type"] == "ceiling"


def test_hostile_names_survive_unchanged() -> None:
    names = ("<script>alert(1)</script>", '"; $(x) \x1b[2J')
    judged = sample.judged(names, sample_verdicts.passing(names))
    read = json.loads(report(judged, "json"))
    assert [node["name"] for node in read["run"]["fabric"]["nodes"]] == list(names)
