"""A survey of a lab's nodes, with names that no administrator would give."""

import pytest
from tests.lab.conftest import MakeLab, on

from fabricgauge.doctor.survey import conclude_survey, survey_nodes
from fabricgauge.lab.host_access import access, declared_networks
from fabricgauge.report.content.discovery import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

pytestmark = pytest.mark.lab

#: What the kernel allows in 15 signs: all but blanks, slash and colon.
NAMES = ('a"<b>$(x)', "e\x1b[31m", "`id`;'")


def test_hostile_names_of_interfaces_are_data_everywhere(make_lab: MakeLab) -> None:
    state = make_lab()
    for name in NAMES:
        on(state, "c1", "ip", "link", "add", "name", name, "type", "bridge")
    kept: dict[str, str] = {}
    found, fabric = survey_nodes(
        access(state), declared_networks(state),
        keep=lambda node, raw, trouble: kept.__setitem__(node, raw),
    )  # fmt: skip
    assert fabric.unreached == ()
    names = {one.name for one in fabric.nodes[0].interfaces}
    assert {*NAMES} <= names
    for name in NAMES:
        assert found[0].facts[f"net.ipv4.conf.{name}.rp_filter"].isdigit()
    assert [network.name for network in fabric.networks] == ["net1"]
    both = conclude_survey(found, fabric)
    text, html = (
        formats_of(KIND)[name](both, Setting(verbose=True)) for name in ("terminal", "html")
    )
    assert "\x1b" not in text + html
    assert "<b>$(x)" not in html
    assert all("== end" in raw for raw in kept.values())


def test_a_whole_survey_of_a_node_in_a_lab_has_no_trouble(make_lab: MakeLab) -> None:
    state = make_lab()
    found, fabric = survey_nodes(access(state), declared_networks(state))
    assert [one.troubles for one in found] == [(), ()]
    (like,) = conclude_survey(found, fabric).classes
    assert (len(like.nodes), like.oddities, like.splits) == (2, (), ())
