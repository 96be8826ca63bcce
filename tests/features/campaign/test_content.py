"""A campaign's page: parts in order, figures beside the document's, what was left out."""

import msgspec
import pytest
from tests.docs.json_schemas import require_fit
from tests.report import sample, sample_verdicts

from fabricgauge.features.campaign.campaign_file import (
    RESULT_FORMAT,
    RESULT_VERSION,
    CampaignResult,
    PartResult,
    find_campaign,
    part_outcome,
)
from fabricgauge.features.campaign.content import (
    KIND,
    MeasuredCampaign,
    MeasuredPart,
    headline,
)
from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.document import Table
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting


@pytest.fixture(scope="module")
def measured() -> MeasuredCampaign:
    """The guide's campaign with a run for its first two parts; the suite's part was left out."""
    campaign = find_campaign("validation")
    judged = sample.judged()
    parts = []
    for part in campaign.part:
        result = PartResult(part.name)
        if part.tool:
            result = PartResult(part.name, left_out="no program of imb was found")
        elif part.patterns:
            result = PartResult(part.name, "20261126T200000Z-abc123", "PASS", "fine", wall_s=3.0)
        references = tuple(map(reference, part.references))
        run = judged if part.patterns else None
        parts.append(MeasuredPart(part, result, judged=run, references=references))
    results = tuple(part.result for part in parts)
    campaign_result = CampaignResult(
        RESULT_FORMAT, RESULT_VERSION, "20261126T200000Z-xyz", "2026-11-26T20:00:00Z", campaign,
        results,
    )  # fmt: skip
    return MeasuredCampaign(campaign_result, tuple(parts))


def page(measured: MeasuredCampaign, name: str) -> str:
    return formats_of(KIND)[name](measured, Setting(width=120))


def test_the_headline_counts_parts_and_names_what_was_left_out(measured: MeasuredCampaign) -> None:
    assert headline(measured).endswith("2 of 3 parts measured; left out: imb-pingpong")


def test_the_parts_stand_in_the_document_s_order(measured: MeasuredCampaign) -> None:
    text = page(measured, "terminal")
    places = [text.rindex(part.title) for part in measured.result.campaign.part]
    assert places == sorted(places)


def test_the_document_s_figures_stand_beside_ours_in_both_units(measured: MeasuredCampaign) -> None:
    text = page(measured, "html")
    assert "osu_put_bw (guide-1gbe-osu-put-bw)" in text
    assert "117.0 (0.9357 Gb/s)" in text  # 116.96 MB/s, the guide's own conversion
    assert "no program of imb was found" in text


def test_what_a_reference_prints_is_not_derived_again(measured: MeasuredCampaign) -> None:
    """The guide prints 0.07 MB/s for 4 B beside its time; 4 B in 54.19 µs are 0.07381."""
    text = page(measured, "html")
    assert "0.07000" in text
    assert "0.07381" not in text
    assert "Throughput: latency" not in text


def test_a_part_that_was_left_out_repeats_no_reference(measured: MeasuredCampaign) -> None:
    text = page(measured, "markdown")
    (shown, left_out) = (text.index("## PingPong, as IMB"), text.index("## PingPong by Intel"))
    after = text.index("## The guide's 40")
    assert "One run, means only" in text[shown:left_out]
    assert "One run, means only" not in text[left_out:after]


def test_messages_per_second_stand_beside_a_reference_that_has_them() -> None:
    campaign = find_campaign("provider")
    part = next(part for part in campaign.part if part.name == "uniband")
    references = tuple(map(reference, part.references))
    result = PartResult(part.name, "20261126T200000Z-abc123", "PASS", "fine")
    measured_part = MeasuredPart(part, result, judged=sample.judged(), references=references)
    about = CampaignResult(RESULT_FORMAT, RESULT_VERSION, "x", "", campaign, (result,))
    document = KIND.document(MeasuredCampaign(about, (measured_part,)), Setting())
    section = next(section for section in document.sections if section.ident == "uniband")
    tables = [block for block in section.blocks if isinstance(block, Table)]
    heads = [" ".join(head.head for head in table.columns) for table in tables]
    assert any("one-way stream" in text and "messages/s" in text for text in heads), heads


def test_curves_stand_in_the_order_of_the_patterns() -> None:
    campaign = find_campaign("validation")
    part = msgspec.structs.replace(campaign.part[1], patterns=("bandwidth", "latency"))
    measured_part = MeasuredPart(part, PartResult(part.name), judged=sample.judged())
    about = CampaignResult(RESULT_FORMAT, RESULT_VERSION, "x", "", campaign)
    text = page(MeasuredCampaign(about, (measured_part,)), "csv")
    assert text.index("one-way stream, c1 → c2") < text.index("half round trip, c1 → c2")


def test_the_curves_of_a_sweep_s_arms_are_figures_of_the_part() -> None:
    campaign = find_campaign("tutorial")
    part = next(part for part in campaign.part if part.name == "mtu")
    curves = suite_curves(sample.judged().run)
    arms = tuple(
        msgspec.structs.replace(curve, title=f"path-mtu={mtu}: {curve.title}")
        for mtu in (256, 4096) for curve in curves
    )  # fmt: skip
    about = CampaignResult(RESULT_FORMAT, RESULT_VERSION, "x", "", campaign)
    swept = MeasuredCampaign(about, (MeasuredPart(part, PartResult(part.name), arms=arms),))
    text = page(swept, "html")
    assert "path-mtu=256: one-way stream" in text
    assert "path-mtu=4096: one-way stream" in page(swept, "csv")


def test_every_figure_is_a_row_of_the_csv(measured: MeasuredCampaign) -> None:
    rows = [line.split(",") for line in page(measured, "csv").splitlines()]
    sources = {row[1] for row in rows[1:]}
    assert {"measured", "guide-1gbe-osu-put-bw", "guide-1gbe-imb-pingpong"} <= sources


def test_the_json_report_has_the_campaign_and_its_results(measured: MeasuredCampaign) -> None:
    document = msgspec.json.decode(page(measured, "json"))
    require_fit("campaign", document)
    assert [part["name"] for part in document["result"]["parts"]] == [
        part.name for part in measured.result.campaign.part
    ]


def test_a_part_without_a_stream_is_not_undecided_for_that_alone() -> None:
    judged = sample.judged(verdicts=sample_verdicts.failing(("c1", "c2")))
    failing = next(verdict for verdict in judged.verdicts if verdict.outcome is Outcome.FAIL)
    about = msgspec.structs.replace(failing.about, kind="network")
    open_rate = msgspec.structs.replace(
        failing, rule="fraction", outcome=Outcome.INCONCLUSIVE, about=about
    )
    others = tuple(
        msgspec.structs.replace(verdict, outcome=Outcome.PASS)
        for verdict in judged.verdicts if verdict is not failing
    )  # fmt: skip
    undecided = msgspec.structs.replace(
        judged, overall=Outcome.INCONCLUSIVE, verdicts=(open_rate, *others)
    )
    assert part_outcome(undecided) is not Outcome.INCONCLUSIVE
    failed = msgspec.structs.replace(undecided, overall=Outcome.FAIL)
    assert part_outcome(failed) is Outcome.FAIL


def test_a_campaign_whose_rates_were_never_judged_does_not_pass(
    measured: MeasuredCampaign,
) -> None:
    sound = sample.judged(verdicts=sample_verdicts.passing(("c1", "c2")))
    about = msgspec.structs.replace(sound.verdicts[0].about, kind="network")
    open_rate = msgspec.structs.replace(
        sound.verdicts[0], rule="fraction", outcome=Outcome.INCONCLUSIVE, about=about
    )
    path = msgspec.structs.replace(sound.verdicts[0], rule="path", outcome=Outcome.PASS)
    undecided = msgspec.structs.replace(
        sound, overall=Outcome.INCONCLUSIVE, verdicts=(path, open_rate)
    )
    parts = measured.parts[:2]

    def outcome(*runs: Judged) -> Outcome:
        with_runs = (
            msgspec.structs.replace(part, judged=run)
            for part, run in zip(parts, runs, strict=False)
        )
        return msgspec.structs.replace(measured, parts=tuple(with_runs)).outcome

    passed = msgspec.structs.replace(undecided, overall=Outcome.PASS, verdicts=(path,))
    assert outcome(undecided) is Outcome.INCONCLUSIVE
    assert outcome(undecided, passed) is Outcome.PASS


@pytest.mark.parametrize(
    ("left_out", "broken", "expected"),
    [("", False, Outcome.PASS), ("no program of imb was found", False, Outcome.WARN),
     ("the launch broke", True, Outcome.INCONCLUSIVE)],
)  # fmt: skip
def test_parts_that_were_left_out_count(
    measured: MeasuredCampaign, left_out: str, broken: bool, expected: Outcome
) -> None:
    first, *others = measured.parts
    sound = sample.judged(verdicts=sample_verdicts.passing(("c1", "c2")))
    parts = [msgspec.structs.replace(first, judged=sound)]
    for part in others:
        result = PartResult(part.part.name, left_out=left_out, broken=broken)
        parts.append(msgspec.structs.replace(part, judged=None, result=result))
    assert msgspec.structs.replace(measured, parts=tuple(parts)).outcome is expected


def test_a_campaign_that_was_interrupted_is_undecided(measured: MeasuredCampaign) -> None:
    sound = sample.judged(verdicts=sample_verdicts.passing(("c1", "c2")))
    part = msgspec.structs.replace(measured.parts[0], judged=sound)
    result = msgspec.structs.replace(measured.result, parts=(part.result,))
    begun = MeasuredCampaign(result, (part,))
    assert begun.outcome is Outcome.INCONCLUSIVE
    assert headline(begun).endswith("1 of 3 parts measured")
