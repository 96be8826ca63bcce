import json

import msgspec
from tests.report import sample, sample_verdicts

from fabricgauge.model.judged import Judged
from fabricgauge.report.formats import report


def document() -> str:
    return report(sample.judged(), "json")


def test_the_document_says_what_it_is_first() -> None:
    assert document().startswith('{"format":"fabricgauge-report","version":"1.8","overall":"PASS"')


def test_the_document_holds_the_whole_judged_run() -> None:
    judged = sample.judged()
    read = json.loads(document())
    kinds = {field.name: field.type for field in msgspec.structs.fields(Judged)}
    for name in ("run", "curves", "ceilings", "verdicts"):
        known = getattr(judged, name)
        kind = kinds[name]
        assert msgspec.convert(read[name], type=kind, strict=False) == known


def test_the_structure_is_the_documented_one() -> None:
    read = json.loads(document())
    assert list(read) == [
        "format", "version", "overall", "headline", "virtual", "judged_utc", "rules_version",
        "verdicts", "ceilings", "curves", "run", "against",
        "simulated", "matrices", "together", "wire", "tables", "families", "emulated",
    ]  # fmt: skip
    assert list(read["curves"][0]["points"][0]) == [
        "message_bytes", "window", "time", "bandwidth", "p99_s", "minimum_s", "maximum_s",
        "mean_s", "recheck",
    ]  # fmt: skip
    assert read["ceilings"]["net1"]["type"] == "ceiling"


def test_hostile_names_survive_unchanged() -> None:
    names = ("<script>alert(1)</script>", '"; $(x) \x1b[2J')
    judged = sample.judged(names, sample_verdicts.passing(names))
    read = json.loads(report(judged, "json"))
    assert [node["name"] for node in read["run"]["fabric"]["nodes"]] == list(names)


def test_nothing_that_a_terminal_obeys_is_written_as_it_is() -> None:
    names = ("\x9b2J\u202e\u2066", "\U000e0001c2\x7f")
    text = report(sample.judged(names, sample_verdicts.passing(names)), "json")
    assert not set(text) & set("".join(names)) - set("2Jc")
    assert "\\u009b2J\\u202e\\u2066" in text
    assert "→" in text
    assert [node["name"] for node in json.loads(text)["run"]["fabric"]["nodes"]] == list(names)
