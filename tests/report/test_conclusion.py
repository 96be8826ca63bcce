import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.judge.consequences import consequences
from fabricgauge.judge.interface import Context
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import (
    Figure,
    Outcome,
    Threshold,
    Verdict,
    VerdictSubject,
    identity,
)
from fabricgauge.report.content.conclusion import (
    headline,
    limit_bytes_s,
    next_steps,
    one_way_peaks,
    tally,
    worst_first,
)
from fabricgauge.report.content.run import document
from fabricgauge.report.content.verdicts import AFTER
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting

PLAIN = ("bandwidth", "c1")


def test_worst_comes_first_and_equals_keep_their_order() -> None:
    verdicts = worst_first(sample_verdicts.failing(("c1", "c2")))
    assert [one.outcome for one in verdicts[:2]] == [Outcome.FAIL, Outcome.WARN]
    assert [one.rule for one in verdicts[2:4]] == ["placement", "path"]


def test_tally_counts_each_outcome() -> None:
    text = tally(sample_verdicts.failing(("c1", "c2")))
    assert text == "1 FAIL, 1 WARN, 4 PASS, 1 SKIPPED"


def test_headline_of_a_pass_gives_direction_size_and_ceiling() -> None:
    text = headline(sample.judged())
    assert all(part in text for part in ("per direction", "→", "MiB", "%", "117.69 MB/s"))


def test_headline_of_a_failure_is_the_worst_verdict() -> None:
    verdicts = sample_verdicts.failing(("c1", "c2"))
    text = headline(sample.judged(verdicts=verdicts))
    assert text == "c1 → c2: the stream reaches 9.98 % of the ceiling"


def test_the_headline_has_figure_and_limit_and_the_row_the_details() -> None:
    slow = Verdict(
        rule="fraction", outcome=Outcome.FAIL, subject="net1, c1",
        summary="11.60 MB/s = 9.9 % of 117.69 MB/s",
        figure=Figure(0.0986, "share", "of the ceiling"), threshold=Threshold(0.95, "share",
        "at least", "built-in"),
    )  # fmt: skip
    assert headline(sample.judged(verdicts=(slow,))) == (
        "net1, c1: 9.9 % of the ceiling; at least 95.0 % is required"
    )


def test_the_headline_keeps_a_summary_that_is_not_about_the_figure() -> None:
    wrong = Verdict(
        rule="path", outcome=Outcome.INVALID, subject="net1",
        summary="c1 crossed eth1, not eth0; see the counters",
        figure=Figure(0.0, "share", "of the sent bytes"), threshold=Threshold(0.99, "share",
        "at least", "built-in"),
    )  # fmt: skip
    assert headline(sample.judged(verdicts=(wrong,))) == (
        "net1: c1 crossed eth1, not eth0; see the counters"
    )


def test_headline_of_a_pass_without_ceiling_claims_no_share() -> None:
    judged = msgspec.structs.replace(
        sample.judged(), ceilings={"net1": Skipped("the rate is not known")}
    )
    assert "ceiling" not in headline(judged)


def test_both_directions_may_carry_twice_the_ceiling() -> None:
    judged = sample.judged()
    assert limit_bytes_s(judged, "net1", "bidirectional_bandwidth") == 2 * sample.LIMIT
    assert limit_bytes_s(judged, "net1", "bandwidth") == sample.LIMIT
    assert limit_bytes_s(judged, None, "bandwidth") is None


def test_each_remedy_is_named_once() -> None:
    verdicts = sample_verdicts.failing(("c1", "c2"))
    assert len(next_steps(sample.judged(verdicts=(*verdicts, *verdicts)))) == 2


def without_a_link(*dead: str, named: tuple[str, ...]) -> Judged:
    """Ports without a link; `connect` names some of them, `link` all."""
    judged = sample.judged()
    nodes = tuple(
        msgspec.structs.replace(
            node,
            interfaces=tuple(
                msgspec.structs.replace(one, carrier=node.name not in dead)
                for one in node.interfaces
            ),
        )
        for node in judged.run.fabric.nodes
    )
    found = tuple(
        Finding("link", Severity.FAIL, f"{one}:eth0", "", ("therefore connect: c1",), "", "plug in")
        for one in named
    )
    fabric = msgspec.structs.replace(judged.run.fabric, nodes=nodes)
    run = msgspec.structs.replace(judged.run, fabric=fabric, preflight=found)
    verdicts = (
        *(asking("connect", f"plug in {one}", "link", "place", one) for one in named),
        asking("link", "reseat the cable"),
    )
    return decided(msgspec.structs.replace(judged, run=run), *verdicts)


def asking(
    rule: str, remedy: str, series: str = "", kind: str = "network", *names: str,
    outcome: Outcome = Outcome.FAIL,
) -> Verdict:  # fmt: skip
    place = f"{names[0]}:eth0" if kind == "place" else ""
    about = VerdictSubject(
        "place" if kind == "place" else "network", "net1", names, series, place=place
    )
    return Verdict(
        rule=rule,
        outcome=outcome,
        subject="",
        summary="",
        remedy=remedy,
        network="net1",
        id=identity(rule, about),
        about=about,
    )


def decided(judged: Judged, *verdicts: Verdict) -> Judged:
    """The judged run with these verdicts, and what follows from which."""
    follows = consequences(Context(judged.run, judged.ceilings), verdicts)
    return msgspec.structs.replace(judged, verdicts=verdicts, follows=follows, overall=Outcome.FAIL)


@pytest.mark.parametrize(
    ("dead", "named", "remedies"),
    [
        (("c1",), ("c1",), ["plug in c1"]),
        (("c1", "c2"), ("c1",), ["plug in c1", "reseat the cable"]),
        (("c1",), (), ["reseat the cable"]),
    ],
)
def test_a_port_without_a_link_has_one_remedy(
    dead: tuple[str, ...], named: tuple[str, ...], remedies: list[str]
) -> None:
    steps = next_steps(without_a_link(*dead, named=named))
    assert [one.remedy for one in steps] == remedies


@pytest.mark.parametrize(
    ("cause", "measured", "rules", "after"),
    [
        (asking("path", "pin it", outcome=Outcome.INVALID), True, ["path", "errors"],
         "fraction, dips"),
        (asking("launch", "mend the route", "launch", "place", "c1"), False, ["launch", "errors"],
         "path, fraction, dips"),
        (asking("launch", "mend the route", "launch", "place", "c1"), True,
         ["launch", "path", "fraction", "dips", "errors"], ""),
    ],
)  # fmt: skip
def test_what_follows_from_another_verdict_is_left_out_and_said(
    cause: Verdict, measured: bool, rules: list[str], after: str
) -> None:
    doubt = asking("path", "prove it", outcome=Outcome.INCONCLUSIVE)
    others = [asking(rule, f"mend {rule}") for rule in ("fraction", "dips", "errors")]
    verdicts = (cause, *((doubt,) if cause.rule == "launch" else ()), *others)
    judged = sample.judged()
    run = judged.run if measured else msgspec.structs.replace(judged.run, launches=())
    judged = decided(msgspec.structs.replace(judged, run=run), *verdicts)
    assert sorted(one.rule for one in next_steps(judged)) == sorted(rules)
    for name in ("terminal", "markdown", "html"):
        page = report(judged, name, Setting(width=200))
        assert (f"{AFTER} ({after})" in page) == bool(after)


@pytest.mark.parametrize(("nodes", "left"), [
    (("c1", "c2"), ["launch"]), (("c1", "c2", "c3"), ["launch", "completeness", "fraction"]),
])  # fmt: skip
def test_what_a_broken_pair_leaves_undecided_asks_for_nothing(
    nodes: tuple[str, ...], left: list[str]
) -> None:
    """Of three nodes the others were measured, and what they leave open is their own."""
    judged, killed = sample.judged(), Finding("launch", Severity.FAIL, "c2", "", (), "", "")
    first, *others = judged.run.launches
    ended = msgspec.structs.replace(first.ended, culprits=(killed,))
    broken = msgspec.structs.replace(first, nodes=nodes, ended=ended)
    verdicts = (
        asking("launch", "see who killed it", "launch", "place", "c2"),
        asking("completeness", "measure the rest", outcome=Outcome.INCONCLUSIVE),
        asking("fraction", "measure a stream", outcome=Outcome.INCONCLUSIVE),
    )
    run = msgspec.structs.replace(judged.run, launches=(broken, *others))
    judged = decided(msgspec.structs.replace(judged, run=run), *verdicts)
    assert [one.rule for one in next_steps(judged)] == left


def test_where_frames_are_lost_what_is_unsteady_or_doubtful_follows() -> None:
    verdicts = (
        asking("lossy", "exchange the cable", "", "place", "c1"),
        asking("stability", "be quiet", outcome=Outcome.WARN),
        asking("fraction", "measure again", outcome=Outcome.INCONCLUSIVE),
        asking("pairs", "look at c2", "", "place", "c2"),
        asking("errors", "mend the adapter", outcome=Outcome.WARN),
    )
    judged = decided(sample.judged(), *verdicts)
    assert [one.rule for one in next_steps(judged)] == ["lossy", "pairs", "errors"]
    unsure = msgspec.structs.replace(verdicts[0], outcome=Outcome.WARN)
    judged = decided(judged, unsure, *verdicts[1:])
    assert {one.rule for one in next_steps(judged)} == {one.rule for one in verdicts}


def test_the_peak_is_the_best_assured_one_and_not_the_luckiest() -> None:
    judged = sample.judged()
    (curve,) = [one for one in judged.curves if (one.pattern, one.origin_node) == PLAIN]
    *calm, last = curve.points
    assert last.bandwidth is not None
    lucky = msgspec.structs.replace(
        last.bandwidth, value=last.bandwidth.value * 1.05, low=last.bandwidth.low / 2
    )
    unsupported = msgspec.structs.replace(
        last.bandwidth, low=last.bandwidth.value * 2, confidence=0.5
    )
    for odd in (lucky, unsupported):
        points = (*calm, msgspec.structs.replace(last, bandwidth=odd))
        curves = (msgspec.structs.replace(curve, points=points),)
        (peak,) = one_way_peaks(msgspec.structs.replace(judged, curves=curves))
        assert peak.message_bytes < last.message_bytes


def test_the_headline_looks_at_the_sizes_that_the_rule_fraction_was_applied_to() -> None:
    judged = sample.judged()
    for least in (1 << 16, 1 << 22):
        moved = msgspec.structs.replace(judged, sustained_bytes=least)
        assert all(one.message_bytes >= least for one in one_way_peaks(moved))


def test_the_head_of_a_page_shows_the_figure_that_failed_and_no_consequence() -> None:
    judged = sample.judged(verdicts=sample_verdicts.failing(("c1", "c2")))
    failed = worst_first(judged.verdicts)[0]
    shown = [one.what for one in document(judged, Setting()).figures]
    assert shown[0].startswith(f"{failed.subject}: ")
    follows = msgspec.structs.replace(judged, follows={failed.id: judged.verdicts[0].id})
    assert [one.what for one in document(follows, Setting()).figures] == shown[1:]
