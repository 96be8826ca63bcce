"""Dips of one moment are one event, which accuses the direction that lost rate."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.soak.events import Event, describe_event, drop_echoes, join_dips
from fabricgauge.features.soak.watching import Dip, Direction

START_S = 1.8e9


def make_dip(origin: str, target: str, kind: str = "rate", at_s: float = 0.0, **values: Any) -> Dip:
    usual_s, worst_s = (120e-6, 2.9e-3) if kind == "latency" else (1.1e-3, 3.7e-3)
    fields: dict[str, Any] = {"kind": kind, "at_s": START_S + at_s, **values}
    dip = Dip(origin, target, "rate", "network", START_S, 0.18, usual_s, worst_s, 10, 0.0)
    return msgspec.structs.replace(dip, **fields)


def list_events(*dips: Dip) -> list[tuple[str, list[str]]]:
    def name(dip: Dip) -> str:
        return f"{dip.origin}{dip.target} {dip.kind}"

    return [(name(event.lead), sorted(map(name, event.effects))) for event in join_dips(dips)]


RATE, BACK = make_dip("c1", "c2"), make_dip("c2", "c1", "latency", -0.02)


@pytest.mark.parametrize(("dips", "events"), [
    # A slow way out of c1 holds up the answers to c2, and those to c3 if it sends to c1.
    ((BACK, RATE), [("c1c2 rate", ["c2c1 latency"])]),
    ((RATE, make_dip("c3", "c1", "latency", 0.1)), [("c1c2 rate", ["c3c1 latency"])]),
    ((RATE, make_dip("c3", "c4", "latency")), [("c1c2 rate", []), ("c3c4 latency", [])]),
    # Both directions lost rate; two slow switches are two events.
    ((make_dip("c2", "c1", at_s=0.05), RATE), [("c1c2 rate", ["c2c1 rate"])]),
    ((RATE, make_dip("c3", "c4")), [("c1c2 rate", []), ("c3c4 rate", [])]),
    # Later ones are other events, also those of the same direction.
    ((RATE, make_dip("c1", "c2", at_s=0.25)), [("c1c2 rate", []), ("c1c2 rate", [])]),
    ((RATE, make_dip("c2", "c1", "latency", 0.3)), [("c1c2 rate", []), ("c2c1 latency", [])]),
    # Round trips alone show no direction.
    ((BACK, make_dip("c1", "c2", "latency")), [("c2c1 latency", ["c1c2 latency"])]),
    # The host's pause explains nothing of the network.
    ((make_dip("c1", "c2", source="host"), BACK), [("c2c1 latency", [])]),
])  # fmt: skip
def test_dips_of_one_moment_are_one_event(
    dips: tuple[Dip, ...], events: list[tuple[str, list[str]]]
) -> None:
    assert list_events(*dips) == events


def test_an_echo_does_not_count_against_its_direction() -> None:
    lone = make_dip("c2", "c1", "latency", 20)
    directions = (Direction("c1", "c2", dips=[RATE]), Direction("c2", "c1", dips=[BACK, lone]))
    assert [direction.dips for direction in drop_echoes(directions)] == [[RATE], [lone]]
    both = (directions[0], Direction("c2", "c1", dips=[make_dip("c2", "c1")]))
    assert drop_echoes(both) == both


def test_an_event_is_one_line_with_the_figures_of_both_ways() -> None:
    counted = make_dip("c2", "c1", "latency", counters={"c2": {"TCP segments sent again": 3}})
    line = describe_event(Event(make_dip("c1", "c2", counters={"c1": {"eth0 x": 1}}), (counted,)))
    for part in ("c1 → c2 for 180 ms", "3.70 ms instead of 1.10 ms, 29.7 % of the rate",
                 "c2 → c1 and back: a round trip took up to 2.90 ms instead of 120 µs",
                 "c1: eth0 x +1", "c2: TCP segments sent again +3"):  # fmt: skip
        assert part in line
    assert "both ways, c1 → c2 first" in describe_event(Event(RATE, (make_dip("c2", "c1"),)))
    assert "c2 → c1 and back for" in describe_event(Event(BACK))
    assert "of the rate" not in describe_event(Event(make_dip("c1", "c2", source="host")))


nodes = st.sampled_from(["c1", "c2", "c3"])
dips = st.lists(
    st.builds(
        make_dip, nodes, nodes, st.sampled_from(["rate", "latency", "stall"]), st.floats(0, 3),
        source=st.sampled_from(["network", "host"]), length_s=st.floats(0, 1),
    ),
    max_size=12,
)  # fmt: skip


@given(dips)
def test_each_dip_of_the_network_is_in_one_event(found: list[Dip]) -> None:
    events = join_dips(found)
    joined = sorted(id(dip) for event in events for dip in event.dips)
    assert joined == sorted(id(dip) for dip in found if dip.source == "network")
    starts = [event.lead.at_s for event in events]
    assert starts == sorted(starts)
    for event in events:
        lead = event.lead
        for dip in event.effects:
            assert {dip.origin, dip.target} & {lead.origin, lead.target}
            assert lead.kind != "latency" or dip.kind == "latency"
