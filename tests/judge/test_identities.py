"""Verdicts and findings have ids made of values, and nothing hangs on the words of a subject."""

import json

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.report import fabric_sample, sample

from fabricgauge.judge import interface
from fabricgauge.judge.judging import overall
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import Part
from fabricgauge.model.verdict import (
    Outcome,
    Verdict,
    VerdictSubject,
    exit_status,
    identity,
    number_repeats,
)
from fabricgauge.model.words import sentences
from fabricgauge.report.content import at_fault
from fabricgauge.report.content.conclusion import headline
from fabricgauge.report.formats import report

NODES = fabric_sample.names(8)


def of_two(fraction: float = 0.995) -> tuple[Verdict, ...]:
    return planted.verdicts(planted.run(planted.sound_launches(fraction)))


def of_many() -> tuple[Verdict, ...]:
    """A slow node that nobody measured again: suspected, not named."""
    return many.verdicts(many.run(many.launch(8, many.rounds(8, many.slow(2)))))


@pytest.mark.parametrize("given", [of_two(), of_two(0.0995), of_many()])
def test_ids_are_unique_within_a_run(given: tuple[Verdict, ...]) -> None:
    assert len({one.id for one in given}) == len(given)
    assert all(one.id.startswith(f"{one.rule}/") for one in given)


def test_an_id_is_made_of_rule_network_nodes_and_series() -> None:
    given = {one.id for one in of_two()}
    assert {"fraction/net1/c1>c2/bandwidth", "fraction/net1/c2>c1/bandwidth"} <= given
    assert {"asymmetry/net1/c1<>c2/bandwidth", "placement/net1", "coverage/run"} <= given


def test_ids_are_the_same_in_a_run_with_other_outcomes() -> None:
    sound, slow = of_two(), of_two(0.0995)
    assert {one.outcome for one in sound} != {one.outcome for one in slow}
    deciding = ("placement", "path", "fraction")
    ids = [{one.id for one in given if one.rule in deciding} for given in (sound, slow)]
    assert ids[0] == ids[1]


def test_a_node_is_one_thing_whichever_way_it_is_slow() -> None:
    parts: tuple[Part, ...] = ("node", "sender", "receiver")
    ids = {identity("outliers", VerdictSubject(one, "net1", ("c3",)).thing) for one in parts}
    assert ids == {"outliers/net1/node:c3"}
    turned = [VerdictSubject("pair", "net1", names) for names in (("a", "b"), ("b", "a"))]
    assert turned[0].thing == turned[1].thing


def test_names_with_the_parting_signs_do_not_run_into_each_other() -> None:
    given = [
        VerdictSubject("stream", "net/1", ("a", "b"), "bandwidth"),
        VerdictSubject("stream", "net", ("1/a", "b"), "bandwidth"),
        VerdictSubject("stream", "net", ("a>b", "c"), "bandwidth"),
        VerdictSubject("stream", "net", ("a", "b>c"), "bandwidth"),
        VerdictSubject("group", "net", ("a,b",)),
        VerdictSubject("group", "net", ("a", "b")),
    ]
    assert len({identity("rule", one) for one in given}) == len(given)


def test_a_pair_that_cannot_connect_is_known_by_its_nodes() -> None:
    dead = Finding(
        "connect", Severity.FAIL, "between c1:eth0 and c3:eth0", "nothing works", (), "", "",
        ("c1", "c3"), "net1",
    )  # fmt: skip
    unplugged = Finding(
        "link", Severity.FAIL, "c2:eth0", "no carrier", ("therefore connect: c2",), "", "",
        ("c2",), "net1",
    )  # fmt: skip
    run = msgspec.structs.replace(planted.run(), preflight=(dead, unplugged))
    given = [one for one in planted.verdicts(run) if one.rule == "connect"]
    assert [one.id for one in given] == ["connect/net1/place:c1,c3", "connect/net1/place:c2/link"]
    assert [one.subject for one in given] == ["net1, between c1:eth0 and c3:eth0", "net1, c2:eth0"]
    assert {one.network for one in given} == {"net1"}


def test_ids_that_occur_again_are_numbered() -> None:
    assert number_repeats(["a", "b", "a", "a"]) == ("a", "b", "a#2", "a#3")


def test_each_finding_has_an_id_of_its_own() -> None:
    matrices = json.loads(report(fabric_sample.judged(NODES), "json"))["matrices"]
    ids = [finding["id"] for one in matrices for finding in one["findings"]]
    assert ids
    assert len(set(ids)) == len(ids)
    assert all(one.startswith("outliers/net1/") and "@" in one for one in ids)


def test_verdicts_stored_without_an_id_are_read() -> None:
    told = {"rule": "path", "outcome": "PASS", "subject": "net1", "summary": "", "network": "net1"}
    read = msgspec.convert(told, Verdict)
    assert (read.subject, read.network, read.id) == ("net1", "net1", "")


def reworded(about: VerdictSubject) -> str:
    """Other words for everything, and the same for much of it."""
    return f"something {about.kind}"


def unworded(given: tuple[Verdict, ...]) -> list[tuple[str, str, Outcome, str]]:
    return [(one.id, one.rule, one.outcome, one.network) for one in given]


def test_other_words_for_a_subject_change_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_two(), of_two(0.0995), of_many()
    monkeypatch.setattr(sentences, "name_subject", reworded)
    monkeypatch.setattr(interface, "_name_subject", interface._name_subject.__wrapped__)
    after = of_two(), of_two(0.0995), of_many()
    for one, other in zip(before, after, strict=True):
        assert unworded(one) == unworded(other)
        assert overall(one) is overall(other)
        assert exit_status(overall(one)) == exit_status(overall(other))
        assert {each.subject for each in other} != {each.subject for each in one}


def suspected() -> Judged:
    """A fabric whose slow node a verdict doubts."""
    made = fabric_sample.judged(NODES)
    found = next(one.findings[0] for one in made.fabric.analyses if one.findings)
    about = VerdictSubject(found.part, "net1", found.names)
    doubt = Verdict(
        rule="outliers", outcome=Outcome.INCONCLUSIVE, subject=sentences.name_subject(about),
        summary="suspected", network="net1",
        about=about,
    )  # fmt: skip
    return msgspec.structs.replace(made, verdicts=(doubt,), overall=Outcome.INCONCLUSIVE)


def test_other_words_for_a_subject_change_no_grouping(monkeypatch: pytest.MonkeyPatch) -> None:
    run = planted.run(planted.sound_launches(0.0995))

    def told() -> tuple[str, list[str]]:
        given = planted.judge(run, {"net1": planted.ceiling()})
        judged = msgspec.structs.replace(sample.judged(), verdicts=given, overall=overall(given))
        kinds: list[str] = [one.word for one in at_fault.describe_findings(suspected())]
        first = next(one for one in given if one.outcome is judged.overall)
        assert headline(judged).startswith(f"{first.subject}: ")
        return headline(judged).removeprefix(first.subject), kinds

    before = told()
    assert before[1] == ["SUSPECTED", *before[1][1:]]
    assert "FAULT" not in before[1]
    monkeypatch.setattr(sentences, "name_subject", reworded)
    assert told() == before
