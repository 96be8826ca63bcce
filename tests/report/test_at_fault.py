import msgspec
import pytest
from tests.report import fabric_sample

from fabricgauge.model.pairs import FabricResult, PairFinding, name_part
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.model.words.figures import signed
from fabricgauge.report.content import at_fault, pairs
from fabricgauge.report.document import Paragraph

NODES = fabric_sample.names(8)
JUDGED = fabric_sample.judged(NODES)


def test_a_finding_says_who_what_how_much_and_how_sure() -> None:
    (named,) = at_fault.describe_findings(JUDGED)
    assert (named.mark, named.subject) == ("net1", "n3, in both directions")
    assert named.summary == "bandwidth at 1 MiB is 75.0 % lower than for its peers"
    (sure,) = named.entries[0].blocks
    assert isinstance(sure, Paragraph)
    assert sure.text == (
        "interval −75.4 % to −74.6 %; explains 14 pairs; q < 0.0001 (false-discovery rate)"
    )


def test_faults_come_before_oversubscription() -> None:
    fault = fabric_sample.finding("n3", 8)
    crossing: PairFinding = msgspec.structs.replace(
        fault, part="group", names=("leaf-2",), effect=-0.9, explanation="oversubscription"
    )
    analysis = msgspec.structs.replace(
        fabric_sample.analysis(NODES, "bandwidth", 2), findings=(crossing, fault)
    )
    judged = msgspec.structs.replace(JUDGED, fabric=FabricResult((analysis,)))
    assert [one.word for one in at_fault.describe_findings(judged)] == ["FAULT", "PROPERTY"]
    assert "oversubscription" in at_fault.describe_findings(judged)[1].summary
    assert pairs.verdict(analysis) == "1 slower than its peers, oversubscribed"


@pytest.mark.parametrize(
    ("outcome", "kind", "heading"),
    [
        (Outcome.FAIL, "FAULT", "Nodes and links at fault"),
        (
            Outcome.INCONCLUSIVE,
            "SUSPECTED",
            "Nodes and links at fault: suspected, but not confirmed",
        ),
    ],
)
def test_a_finding_is_told_as_sure_as_its_verdict(
    outcome: Outcome, kind: str, heading: str
) -> None:
    of_n3 = VerdictSubject("sender", JUDGED.fabric.analyses[0].matrix.network, ("n3",))
    given = Verdict(
        rule="outliers", outcome=outcome, subject="in any words", summary="", about=of_n3
    )
    judged = msgspec.structs.replace(JUDGED, verdicts=(given,))
    (named,) = found = at_fault.describe_findings(judged)
    assert named.word == kind
    assert at_fault.heading(found) == heading
    assert ("not confirmed" in named.summary) == (kind == "SUSPECTED")


def test_nobody_is_named_when_nobody_is() -> None:
    judged = msgspec.structs.replace(JUDGED, fabric=fabric_sample.result(NODES, slow=None))
    assert at_fault.describe_findings(judged) == ()
    assert all("none slower than its peers" in line for line in pairs.summary(judged))
    assert at_fault.heading(()) == "Nodes and links at fault: none"


@pytest.mark.parametrize(
    ("part", "names", "said"),
    [
        ("sender", ("a",), "a, sending"),
        ("receiver", ("a",), "a, receiving"),
        ("direction", ("a", "b"), "the way from a to b"),
        ("pair", ("a", "b"), "the way between a and b"),
        ("pair", ("a",), "the way between a and ?"),
    ],
)
def test_every_part_is_told_apart(part: str, names: tuple[str, ...], said: str) -> None:
    finding = msgspec.convert({**msgspec.to_builtins(fabric_sample.finding("a", 8)), "part": part},
                              PairFinding)  # fmt: skip
    assert name_part(finding.part, names) == said


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (-0.75, "−75.0 %"),
        (0.05, "+5.0 %"),
        (1e-4, "+0.01 %"),
        (0.0, "0 %"),
        (1.0, "+100.0 %"),
        (1 - 1e-9, "+100.0 %"),
        (1 + 1e-9, "+100.0 %"),
        (-0.9999, "−99.99 %"),
    ],
)
def test_a_change_has_its_sign(effect: float, said: str) -> None:
    assert signed(effect) == said


def test_coverage_counts_directed_pairs() -> None:
    assert pairs.coverage(JUDGED.fabric.analyses[0]) == "56 of 56 directed pairs (100 %)"
