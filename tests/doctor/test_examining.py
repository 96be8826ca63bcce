"""Clean clusters of any shape have no finding, hostile names stay data, and what follows from a
fault is told with it."""

import json
import re
from collections.abc import Collection

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor import clusters
from tests.doctor.clusters import clean, findings, with_interface, with_pings

from fabricgauge.doctor.checks import CHECKS, QUICK, load_checks
from fabricgauge.doctor.examining import (
    EXPLAINED_BY,
    MAX_LINES,
    choose_checks,
    examine,
    merge_findings,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Diagnosis, Finding, Severity
from fabricgauge.model.preflight import (
    Clock,
    Connectivity,
    FailedConnection,
    Ping,
    Preflight,
    Rise,
    Trial,
)
from fabricgauge.report.content.preflight import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

IDS = list(CHECKS)


def diagnosis(preflight: Preflight) -> Diagnosis:
    names = tuple(node.name for node in preflight.fabric.nodes)
    return Diagnosis(examine(preflight), names, ("eth", "ib"), 3.0, {})


@st.composite
def sound(draw: st.DrawFn) -> Preflight:
    """A clean cluster with its harmless variety: sizes, times, offsets, counters, absent facts."""
    preflight = clean(draw(st.integers(1, 6)))
    factor = draw(st.floats(0.2, 20))
    jitter = draw(st.floats(1.0, 2.0))

    def timed(ping: Ping) -> Ping:
        assert isinstance(ping.rtt_s, float)
        more = jitter if ping.source < ping.target else 1.0
        return msgspec.structs.replace(ping, rtt_s=ping.rtt_s * factor * more)

    preflight = with_pings(preflight, timed) if factor * jitter < 8 else preflight
    dropped = draw(st.sets(st.sampled_from(sorted(clusters.FACTS))))
    inventories = tuple(
        msgspec.structs.replace(
            one, facts={key: value for key, value in one.facts.items() if key not in dropped}
        )
        for one in preflight.inventories
    )
    few = draw(st.integers(0, 2))
    rises = (Rise("c1", "eth0", "rx_dropped", few, 3.0), Rise("c1", "eth0", "rx_bytes", 10**9, 3.0))
    return msgspec.structs.replace(preflight, inventories=inventories, rises=rises)


@given(sound())
def test_a_sound_cluster_has_no_finding(preflight: Preflight) -> None:
    found = findings(preflight)
    assert not found, [(one.check, one.where, one.what) for one in found]


@given(sound(), st.sampled_from(["eth0", "ib0"]), st.integers(1, 6))
def test_a_planted_fault_is_the_only_finding_on_any_sound_cluster(
    preflight: Preflight, interface: str, number: int
) -> None:
    node = preflight.fabric.nodes[(number - 1) % len(preflight.fabric.nodes)].name
    found = findings(
        with_interface(preflight, f"{node}:{interface}", carrier=False, operstate="down")
    )
    assert [(one.check, one.where) for one in found] == [("link", f"{node}:{interface}")]


def ill() -> Preflight:
    """Something is wrong in everything that nodes try."""
    plain = clean(4)

    def lost(one: Ping) -> Ping:
        here = "c1" in (one.source, one.target)
        large = one.payload_bytes > 10000
        rtt_s = 0.5 if large and {one.source, one.target} == {"c3", "c4"} else one.rtt_s
        gone = here and not large and (one.network == "eth") != one.whole
        return msgspec.structs.replace(one, received=0 if gone else 5, rtt_s=rtt_s)

    failed = FailedConnection("c2", "c3", "10.1.0.2", "10.1.0.3", "no answer")
    return msgspec.structs.replace(
        with_pings(plain, lost),
        lookups=tuple(
            msgspec.structs.replace(one, addresses=("10.9.9.9",)) for one in plain.lookups
        ),
        clocks=(*plain.clocks[1:], Clock("c1", 100.0, 101.0)),
        rises=(Rise("c1", "eth0", "rx_crc_errors", 50, 3.0),),
        connectivity=(Connectivity("eth", {"c1": 3, "c2": 3, "c3": 3, "c4": 3}, (failed,)),),
    )


def tried(preflight: Preflight, trials: Collection[Trial]) -> Preflight:
    """What is known where only some trials were made."""

    def made(one: Ping) -> bool:
        kind: Trial = "wholes" if one.whole else "large" if one.payload_bytes > 10000 else "echoes"
        return kind in trials

    return msgspec.structs.replace(
        preflight,
        pings=tuple(one for one in preflight.pings if made(one)),
        lookups=preflight.lookups if "names" in trials else (),
        clocks=preflight.clocks if "clocks" in trials else (),
        rises=preflight.rises if "counters" in trials else (),
        seconds=preflight.seconds if "counters" in trials else 0.0,
        connectivity=preflight.connectivity if "connect" in trials else (),
    )


def test_a_check_finds_the_same_where_no_trial_was_made_that_it_does_not_read() -> None:
    whole, finding = ill(), set()
    for check in load_checks():
        (all_tried,) = examine(whole, (check.id,))
        assert examine(tried(whole, check.trials), (check.id,)) == (all_tried,), check.id
        finding |= {check.id} if all_tried.findings else set()
        for trial in set(check.trials) - {"losses"}:
            rest = set(check.trials) - {trial}
            if check.id not in ("addresses", "reverse-path"):  # which use them for a part
                assert examine(tried(whole, rest), (check.id,)) != (all_tried,), (check.id, trial)
    assert finding == {"ping", "mtu", "carried", "names", "clocks", "counters", "connect"}


def test_the_quick_checks_suffice_without_a_survey_and_trials() -> None:
    for whole in (ill(), hostile()):
        preflight = Preflight(whole.fabric, (), connectivity=whole.connectivity)
        all_checked = examine(preflight)
        assert {checked.check for checked in all_checked if checked.findings} <= set(QUICK)
        quick = [checked for checked in all_checked if checked.check in QUICK]
        assert examine(preflight, QUICK) == tuple(quick)
        assert any(checked.findings for checked in quick)


HOSTILE = "\x1b]0;owned\x07<script>alert(1)</script> $(reboot) `id` '; rm -rf / #\n| a | b"


def hostile() -> Preflight:
    """Every text that a node sends is hostile, and much is wrong."""
    preflight = with_interface(clean(2), "c2:eth0", carrier=False, operstate=HOSTILE, mac=HOSTILE)
    text = msgspec.json.encode(preflight).decode()
    for name in ("c2", "ib0", "MT28908", "20.43", "performance", "4.18.0"):
        text = text.replace(json.dumps(name), json.dumps(HOSTILE + name))
    return msgspec.json.decode(text, type=Preflight)


def test_hostile_names_stay_data_in_every_format() -> None:
    found = diagnosis(hostile())
    assert found.findings
    for name, render in formats_of(KIND).items():
        shown = render(found, Setting(width=100, colour=False))
        assert "\x1b" not in shown, name
        assert "\x07" not in shown, name
    markdown = formats_of(KIND)["markdown"](found, Setting())
    assert "script" in markdown
    assert "<script>" not in re.sub(r"`[^`]*`", "", markdown)


def test_commands_quote_hostile_names() -> None:
    text = msgspec.json.encode(clean(2)).decode().replace('"eth0"', '"a b;reboot"')
    preflight = msgspec.json.decode(text, type=Preflight)
    found = diagnosis(with_interface(preflight, "c2:a b;reboot", mtu_bytes=1500))
    shown = formats_of(KIND)["terminal"](found, Setting(width=100))
    assert "on c2: ip link set dev 'a b;reboot' mtu 9000" in shown


@given(st.text(max_size=30), st.sampled_from(sorted(clusters.FACTS)))
def test_no_fact_makes_a_check_crash(value: str, fact: str) -> None:
    examine(clusters.with_fact(clean(2), "c1", fact, value))


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_address_or_driver_makes_a_check_crash(text: str, other: str) -> None:
    preflight = with_interface(clean(2), "c1:eth0", driver=text, operstate=other, mac=text)
    examine(msgspec.structs.replace(preflight, lookups=clean(2).lookups))


def test_only_and_skip_choose_and_refuse_what_there_is_not() -> None:
    assert choose_checks(["link", "mtu"], []) == ("link", "mtu")
    assert choose_checks([], ["link"]) == tuple(name for name in IDS if name != "link")
    with pytest.raises(UsageError, match="no check 'lnik'; .* reach, "):
        choose_checks(["lnik"], [])
    with pytest.raises(UsageError, match="leave no check"):
        choose_checks(["link"], ["link"])


def test_a_consequence_stands_alone_where_its_cause_is_not_looked_for() -> None:
    dead = with_interface(clean(2), "c2:eth0", carrier=False)

    def lost(ping: Ping) -> Ping:
        return msgspec.structs.replace(ping, received=0) if ping.network == "eth" else ping

    (checked,) = examine(with_pings(dead, lost), ["ping"])
    assert [one.check for one in checked.findings] == ["ping"]


def test_every_check_has_the_id_of_its_row_and_says_why_it_matters() -> None:
    assert [check.id for check in load_checks()] == IDS
    for check in load_checks():
        assert check.title
        assert check.why.endswith(".")


def test_the_table_of_causes_names_checks_and_has_no_circle() -> None:
    assert {name for causes in EXPLAINED_BY.values() for name in causes} <= set(IDS)
    assert set(EXPLAINED_BY) <= set(IDS)
    for name in EXPLAINED_BY:
        seen, below = set(), {name}
        while below:
            seen |= below
            below = {cause for one in below for cause in EXPLAINED_BY.get(one, ())}
            assert name not in below, f"{name} explains itself"


def test_a_node_that_could_not_try_to_connect_is_told() -> None:
    made = Connectivity("eth", {"c1": 1, "c2": 1, "c3": 0}, (), {"c3": "no such program"})
    (found,) = findings(msgspec.structs.replace(clean(3), connectivity=(made,)))
    assert (found.check, found.severity, found.nodes) == ("connect", Severity.WARN, ("c3",))
    assert found.evidence == ("c3: no such program",)


def test_a_node_that_starts_late_is_told_and_carries() -> None:
    start_s = {"c1": 0.2, "c2": 0.3, "c3": 8.1}
    made = Connectivity("eth", dict.fromkeys(start_s, 2), (), {}, start_s)
    (found,) = findings(msgspec.structs.replace(clean(3), connectivity=(made, made)))
    assert (found.check, found.severity, found.where) == ("connect", Severity.WARN, "c3")
    assert "starts late: 8 s" in found.what
    assert not found.carries_nothing


def test_logins_that_one_machine_makes_one_after_the_other_name_nobody() -> None:
    start_s = {f"c{number}": float(number) for number in range(1, 26)}
    made = Connectivity("eth", dict.fromkeys(start_s, 24), (), {}, start_s)
    assert findings(msgspec.structs.replace(clean(3), connectivity=(made,))) == []


def test_evidence_of_many_nodes_is_bounded_and_counted() -> None:
    many = [
        Finding("x", Severity.WARN, f"c{n}", "is odd", (f"line {n}",), "w", "r", (f"c{n}",))
        for n in range(100)
    ]
    (one,) = merge_findings(many)
    assert len(one.evidence) == MAX_LINES
    assert one.evidence[-1] == "and 89 more such lines"
    assert len(one.nodes) == 100


def test_what_carries_nothing_is_told_one_by_one_and_all_else_together() -> None:
    pairs = (("c1", "c3"), ("c2", "c4"))
    for check, evidence, count in (
        ("connect", (), 2), ("link", ("therefore connect: c3: nothing works",), 2), ("mtu", (), 1),
    ):  # fmt: skip
        same = [
            Finding(
                check, Severity.FAIL, " and ".join(ends), "does not work", evidence, "", "", ends
            )
            for ends in pairs
        ]
        assert len(merge_findings(same)) == count


def test_two_thousand_nodes_with_one_fault_are_looked_at_in_seconds() -> None:
    """No check may look at each pair of nodes."""
    few = clean(2)
    nodes = tuple(clusters.node(n) for n in range(1, 251))
    networks = (clusters.network(nodes, "eth", "eth0", 100e9),)
    lookups = tuple(
        msgspec.structs.replace(one, node=f"c{n}") for n in range(1, 251) for one in few.lookups
    )
    preflight = Preflight(
        msgspec.structs.replace(few.fabric, nodes=nodes, networks=networks),
        tuple(clusters.inventory(n) for n in range(1, 251)), (), lookups, (), (), 3.0,
    )  # fmt: skip
    found = findings(with_interface(preflight, "c77:eth0", mtu_bytes=1500))
    assert [(one.check, one.where) for one in found] == [("mtu", "c77:eth0")]
