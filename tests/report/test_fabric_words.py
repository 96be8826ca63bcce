import msgspec
import pytest
from tests.report import fabric_sample

from fabricgauge.model.pairs import FabricResult, PairFinding
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.report.content import fabric_words

NODES = fabric_sample.names(8)
JUDGED = fabric_sample.judged(NODES)


def test_a_finding_says_who_what_how_much_and_how_sure() -> None:
    (named,) = fabric_words.findings(JUDGED)
    assert named.sentence == (
        "node n3, in both directions: bandwidth at 1 MiB is 75.0 % lower than the others'"
        " (interval -75.4 % to -74.6 %; q < 0.0001; explains 14 pairs)"
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
    assert [one.kind for one in fabric_words.findings(judged)] == ["FAULT", "PROPERTY"]
    assert "no defect" in fabric_words.findings(judged)[1].sentence
    assert fabric_words.verdict(analysis) == "1 slower than the others, oversubscribed"


@pytest.mark.parametrize(
    ("outcome", "kind", "heading"),
    [
        (Outcome.FAIL, "FAULT", "Who is at fault"),
        (Outcome.INCONCLUSIVE, "SUSPECTED", "Who is at fault: suspected, but not confirmed"),
    ],
)
def test_a_finding_is_told_as_sure_as_its_verdict(
    outcome: Outcome, kind: str, heading: str
) -> None:
    of_n3 = VerdictSubject("sender", JUDGED.fabric.analyses[0].matrix.network, ("n3",))
    given = Verdict("outliers", outcome, "in any words", "", about=of_n3)
    judged = msgspec.structs.replace(JUDGED, verdicts=(given,))
    (named,) = found = fabric_words.findings(judged)
    assert named.kind == kind
    assert fabric_words.heading(found) == heading
    assert ("not confirmed" in named.sentence) == (kind == "SUSPECTED")


def test_nobody_is_named_when_nobody_is() -> None:
    judged = msgspec.structs.replace(JUDGED, fabric=fabric_sample.result(NODES, slow=None))
    assert fabric_words.findings(judged) == ()
    assert all("none slower than the others" in line for line in fabric_words.summary(judged))
    assert fabric_words.heading(()) == "Who is at fault: nobody is named"


@pytest.mark.parametrize(
    ("part", "names", "said"),
    [
        ("sender", ("a",), "node a, when it sends"),
        ("receiver", ("a",), "node a, when it receives"),
        ("direction", ("a", "b"), "a → b, in that direction"),
        ("pair", ("a", "b"), "a ↔ b, with each other"),
        ("pair", ("a",), "a ↔ ?, with each other"),
    ],
)
def test_every_part_is_told_apart(part: str, names: tuple[str, ...], said: str) -> None:
    finding = msgspec.convert({**msgspec.to_builtins(fabric_sample.finding("a", 8)), "part": part},
                              PairFinding)  # fmt: skip
    assert fabric_words.who(finding.part, names) == said


@pytest.mark.parametrize(
    ("effect", "said"), [(-0.75, "-75.0 %"), (0.05, "+5.0 %"), (1e-4, "± < 0.1 %"), (0.0, "0 %")]
)
def test_a_change_has_its_sign(effect: float, said: str) -> None:
    assert fabric_words.change(effect) == said


def test_coverage_counts_directed_pairs() -> None:
    assert fabric_words.coverage(JUDGED.fabric.analyses[0]) == "56 of 56 directed pairs (100 %)"
