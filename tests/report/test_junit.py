from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report import sample, sample_verdicts

from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Strictness
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting

NODES = ("c1", "c2")


def suite(judged: Judged) -> ET.Element:
    found = ET.fromstring(report(judged, "junit").encode()).find("testsuite")  # noqa: S314
    assert found is not None
    return found


def cases(judged: Judged) -> dict[str, ET.Element]:
    return {one.attrib["name"]: one for one in suite(judged).iter("testcase")}


def test_there_is_one_case_per_verdict_and_the_counts_agree() -> None:
    verdicts = sample_verdicts.failing(NODES)
    found = suite(sample.judged(verdicts=verdicts))
    assert len(list(found.iter("testcase"))) == len(verdicts)
    assert [found.attrib[n] for n in ("tests", "failures", "errors", "skipped")] == [
        "7", "1", "0", "1",
    ]  # fmt: skip


def test_a_fail_is_a_failure_with_cause_and_next_step() -> None:
    judged = sample.judged(verdicts=sample_verdicts.failing(NODES))
    failure = cases(judged)["fraction-of-ceiling: c1 → c2"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "the stream reaches 9.98 % of the ceiling"
    assert "remedy: compare the negotiated rate" in (failure.text or "")


def test_invalid_and_inconclusive_are_errors() -> None:
    wrong = sample_verdicts.invalid(NODES)
    unsure = msgspec.structs.replace(wrong[0], outcome=Outcome.INCONCLUSIVE)
    for verdicts in (wrong, (unsure, *wrong[1:])):
        judged = sample.judged(verdicts=verdicts)
        assert cases(judged)["placement: net1"].find("error") is not None
        assert suite(judged).attrib["errors"] == "1"


def test_a_warning_passes_and_a_skipped_rule_is_skipped() -> None:
    found = cases(sample.judged(verdicts=sample_verdicts.failing(NODES)))
    assert [one.tag for one in found["instability: c2 → c1"]] == ["properties", "system-out"]
    assert [one.tag for one in found["host-limited: net1"]] == ["properties", "skipped"]


@pytest.mark.parametrize(
    ("outcome", "fail_on", "element"),
    [
        (Outcome.WARN, (), "system-out"),
        (Outcome.WARN, ("inconclusive",), "system-out"),
        (Outcome.WARN, ("warn",), "failure"),
        (Outcome.INCONCLUSIVE, ("warn",), "error"),
        (Outcome.INCONCLUSIVE, ("inconclusive",), "failure"),
        (Outcome.INVALID, ("inconclusive",), "failure"),
        (Outcome.SKIPPED, ("warn", "inconclusive"), "skipped"),
    ],
)
def test_what_counts_as_a_failure_is_one(
    outcome: Outcome, fail_on: tuple[Strictness, ...], element: str
) -> None:
    first, *rest = sample_verdicts.passing(NODES)
    judged = sample.judged(verdicts=(msgspec.structs.replace(first, outcome=outcome), *rest))
    text = report(judged, "junit", Setting(fail_on=fail_on))
    found = ET.fromstring(text).find("testsuite/testcase")  # noqa: S314
    assert found is not None
    assert found.find(element) is not None


def test_a_case_has_the_id_of_its_verdict_as_a_property() -> None:
    found = cases(sample.judged(verdicts=sample_verdicts.failing(NODES)))
    own = found["fraction-of-ceiling: c1 → c2"].find("properties/property[@name='id']")
    assert own is not None
    assert own.attrib["value"] == "fraction-of-ceiling/net1/c1>c2/bandwidth"


def test_a_run_that_decided_nothing_is_an_error() -> None:
    found = suite(sample.judged(verdicts=()))
    assert [found.attrib[n] for n in ("tests", "errors")] == ["1", "1"]
    error = found.find("testcase/error")
    assert error is not None
    assert error.attrib["message"] == "Nothing was judged."


def test_the_properties_identify_the_run() -> None:
    found = suite(sample.judged()).iter("property")
    said = {one.attrib["name"]: one.attrib["value"] for one in found}
    assert said["run"] == "20261121T201503Z-k3f9"
    assert said["overall"] == "PASS"
    assert said["fabricgauge"] == "0.1.0"


def test_two_verdicts_of_one_rule_and_subject_are_two_cases() -> None:
    verdicts = sample_verdicts.passing(NODES)
    judged = sample.judged(verdicts=(*verdicts, *verdicts))
    assert len(cases(judged)) == 2 * len(verdicts)


@settings(max_examples=40)
@given(st.text(st.characters(), max_size=30))
def test_no_name_breaks_the_document(name: str) -> None:
    names = (name, "]]><x/>\x00\x1b\ufffe\uffff\ud800")
    judged = sample.judged(names, sample_verdicts.failing(names))
    assert len(cases(judged)) == 7
