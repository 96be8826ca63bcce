"""Call sites of sent messages: mpiP's section, alone too, and the talk's published table."""

from pathlib import Path

import pytest

from fabricgauge.compare.sides import find_side
from fabricgauge.features.application import profile_content
from fabricgauge.features.application.other_profilers import mpip_profile, reference_profile
from fabricgauge.features.application.prediction import predict
from fabricgauge.features.application.prediction_content import document, headline
from fabricgauge.features.application.profile import find_profile, is_profile
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.errors import UsageError
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting

FIXTURE = Path(__file__).parents[2] / "fixtures" / "mpip" / "3.5.0--openmpi-no-sites.out"
MIX = "opx-openradioss-message-mix"


def section(text: str) -> str:
    """The section on sent messages alone, as it is pasted from a report."""
    start = text.index("@--- Aggregate Sent Message Size")
    return text[start : text.index("@--- Aggregate RMA", start)]


def test_a_report_s_sites_are_read_most_bytes_first() -> None:
    sites = mpip_profile(FIXTURE.read_text()).sites
    assert sites
    assert [site.bytes for site in sites] == sorted((s.bytes for s in sites), reverse=True)
    assert 0.9 < sum(site.sent_share for site in sites) <= 1.001


def test_the_section_alone_is_a_profile(tmp_path: Path) -> None:
    alone = tmp_path / "sent.txt"
    alone.write_text(section(FIXTURE.read_text()))
    assert is_profile(alone)
    profile = find_profile(str(alone), tmp_path)
    assert profile.sites == mpip_profile(FIXTURE.read_text()).sites
    assert profile.ranks == ()
    assert {mix.site for mix in profile.mix} == {site.site for site in profile.sites}
    assert profile_content.headline(profile) == "12 call sites sent 2.779 MB in 156 calls"
    shown = profile_content.KIND.document(profile, Setting()).sections
    (calls,) = next(section for section in shown if section.ident == "calls").blocks
    assert isinstance(calls, doc.Table)
    assert calls.rows[0][0] == "MPI_Sendrecv"  # the most bytes first: times are unknown
    assert {row[-1] for row in calls.rows} == {"–"}


def test_a_file_without_the_section_is_none(tmp_path: Path) -> None:
    other = tmp_path / "sent.txt"
    other.write_text("Call Site Count Total Avrg Sent%\n")
    assert not is_profile(other)


def test_a_published_table_of_sites_is_a_profile() -> None:
    profile = reference_profile(reference(MIX))
    assert len(profile.sites) == 20
    first = profile.sites[0]
    assert (first.call, first.site, first.calls) == ("Isend", "173", 90939438)
    assert first.sent_share == pytest.approx(0.5418)
    with pytest.raises(UsageError, match="no table of call sites"):
        reference_profile(reference("guide-conversions"))


def test_the_talk_s_mix_gains_what_its_two_rates_give(tmp_path: Path) -> None:
    a, b = (find_side(name, tmp_path) for name in ("opx-psm2-uniband-mrate", "opx-uniband-mrate"))
    prediction = predict(find_profile(MIX, tmp_path), "psm2", a.curves, "opx", b.curves)
    gains = {row.site: round(100 * row.gain) for row in prediction.rows}
    assert [gains[site] for site in ("173", "249", "143", "44", "287")] == [147, 105, 12, -1, 127]
    assert 1 / prediction.least_ratio.value == pytest.approx(2.04, abs=0.01)
    assert prediction.winner == "b"  # at the sites with a curve: 92.3 % of the calls
    stated = headline(prediction)
    for text in ("2.041 times", "+146.6 % at site 173", "−0.6 % at site 44", "11 sites, 92.3 %"):
        assert text in stated
    (total,) = next(s for s in document(prediction, Setting()).sections if s.ident == "sum").blocks
    assert isinstance(total, doc.Table)
    assert total.rows[-1][0] == "A ÷ B"
    assert float(str(total.rows[-1][1])) == pytest.approx(2.04, abs=0.01)
