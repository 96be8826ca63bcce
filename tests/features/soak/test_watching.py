"""A soak's records become dips, stalls and stuck ranks; memory does not grow."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabricgauge.features.soak.events import join_dips
from fabricgauge.features.soak.watching import (
    LASTING_S,
    MOST_DIPS,
    MOST_POINTS,
    WAITING_S,
    Dip,
    SoakRecord,
    SoakWatch,
    Stuck,
    parse_record,
)
from fabricgauge.nodes.discover.ranks import NO_ANSWER

USUAL_S, PERIOD_S = 1.1e-3, 0.02
START_S = 1.8e9


def make_record(second: float, slow: Any = (), rank: int = 0, **fields: Any) -> SoakRecord:
    """Return the record that a rank writes at the end of a second."""
    sound = SoakRecord(
        rank=rank, to=1 - rank, at_s=START_S + second + 1, messages=50, median_s=USUAL_S,
        worst_s=USUAL_S * 1.1, usual_s=USUAL_S, slow_messages=len(slow), slow=tuple(slow),
        ping_messages=50, ping_median_s=2e-5, ping_worst_s=4e-5, ping_usual_s=2e-5,
        ping_slow_messages=0, ping_slow=(), waiting_s=0.0, ping_waiting_s=0.0, unheard_s=0.01,
        stopped_s=0.0,
    )  # fmt: skip
    return msgspec.structs.replace(sound, **fields)


def slow_messages(second: float, count: int, time_s: float = 3.6e-3, stopped_s: float = 0.0) -> Any:
    """Return messages one period apart that each took ``time_s``."""
    return [(START_S + second + place * PERIOD_S, time_s, stopped_s, 0.0) for place in range(count)]


def watch_records(*records: SoakRecord) -> tuple[SoakWatch, list[Dip]]:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    dips = [dip for record in records for dip in watch.add(record, record.at_s)]
    return watch, dips + watch.close()


def test_a_quiet_soak_has_no_dip() -> None:
    watch, dips = watch_records(*(make_record(second, rank=second % 2) for second in range(60)))
    assert dips == []
    assert [way.messages for way in watch.directions] == [1500, 1500]


def test_slow_messages_without_a_pause_are_one_dip() -> None:
    """Ten messages in 200 ms, as a rate that falls for so long gives."""
    slow = slow_messages(1.4, 10)
    _, (dip,) = watch_records(make_record(0), make_record(1, slow), make_record(2))
    assert (dip.origin, dip.target, dip.kind, dip.source) == ("c1", "c2", "rate", "network")
    assert dip.at_s == pytest.approx(START_S + 1.4)
    assert dip.length_s == pytest.approx(0.18 + 3.6e-3)
    assert (dip.messages, dip.worst_s, dip.usual_s) == (10, 3.6e-3, USUAL_S)


def test_one_message_that_a_host_delays_is_counted_only() -> None:
    watch, dips = watch_records(make_record(1, slow_messages(1.4, 1)), make_record(2))
    assert dips == []
    assert watch.directions[0].short_delays == 1
    _, (dip,) = watch_records(make_record(1, slow_messages(1.4, 1, time_s=0.2)), make_record(2))
    assert dip.messages == 1  # TCP sent a lost segment again


def test_a_dip_over_the_end_of_an_interval_is_one() -> None:
    first, second = slow_messages(1.9, 5), slow_messages(2.0, 5)
    _, dips = watch_records(make_record(1, first), make_record(2, second), make_record(3))
    assert [dip.messages for dip in dips] == [10]


def test_dips_with_a_pause_between_them_are_two() -> None:
    slow = [*slow_messages(1.1, 5), *slow_messages(1.6, 5)]
    _, dips = watch_records(make_record(1, slow), make_record(2))
    assert [dip.messages for dip in dips] == [5, 5]


def test_a_process_that_did_not_run_is_the_hosts_dip() -> None:
    slow = slow_messages(1.4, 4, time_s=0.02, stopped_s=0.018)
    watch, (dip,) = watch_records(make_record(1, slow), make_record(2))
    assert dip.source == "host"
    assert watch.directions[0].host_dips == 1


def test_a_message_of_a_second_is_a_stall() -> None:
    _, (dip,) = watch_records(make_record(3, slow_messages(1.4, 1, time_s=1.5)), make_record(4))
    assert dip.kind == "stall"
    assert dip.length_s == pytest.approx(1.5)


def test_a_dip_has_the_counters_of_both_ends() -> None:
    rises = {"eth0": {"tx_bytes": 10**6, "rx_errors": 7, "carrier_changes": 2}}
    far = make_record(1, rank=1, retransmitted_segments=12)
    near = make_record(1, slow_messages(1.4, 10), rises=rises)
    _, (dip,) = watch_records(far, near, make_record(2))
    assert dip.counters == {
        "c1": {"eth0 rx_errors": 7, "eth0 carrier_changes": 2},
        "c2": {"TCP segments sent again": 12},
    }


def test_a_round_trip_within_a_dip_of_the_stream_is_no_second_dip() -> None:
    ping = [(START_S + 1.45, 60e-3, 0.0, 0.0)]
    both = make_record(1, slow_messages(1.4, 10), ping_slow=ping)
    _, dips = watch_records(both, make_record(2))
    assert [dip.kind for dip in dips] == ["rate"]
    _, dips = watch_records(make_record(1, ping_slow=ping), make_record(2))
    assert [dip.kind for dip in dips] == ["latency"]


def test_a_silent_rank_is_named_once_while_others_write() -> None:
    watch = SoakWatch(("c1", "c2", "c3"), PERIOD_S, 1.0)
    named = []
    for second in range(20):
        for rank in range(3):
            if rank != 1 or second < 5 or second > 17:
                record = make_record(second, rank=rank)
                watch.add(record, record.at_s)
        named += [(second, node) for node in watch.find_stuck(START_S + second + 1)]
    assert named == [(10, "c2")]
    assert watch.silence_of("c2", START_S + 30) == pytest.approx(10.0)


def test_all_silent_ranks_name_none() -> None:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for rank in range(2):
        watch.add(make_record(0, rank=rank), START_S)
    assert watch.find_stuck(START_S + 60) == ()


def test_a_message_under_way_is_named_once_and_again_after_it_came() -> None:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    waits = (1.0, WAITING_S + 1, WAITING_S + 2, 0.0, WAITING_S)
    named = [watch.find_waiting(make_record(0, waiting_s=wait_s), START_S) for wait_s in waits]
    assert named == [None, ("c2", WAITING_S + 1), None, None, ("c2", WAITING_S)]


def test_memory_does_not_grow_with_time() -> None:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for second in range(3000):
        record = make_record(second, slow_messages(second + 0.4, 3))
        watch.add(record, record.at_s)
    way = watch.directions[0]
    assert (len(way.dips), way.more_dips) == (MOST_DIPS, 3000 - MOST_DIPS)
    assert len(way.curve) <= MOST_POINTS
    assert way.curve[0].at_s == START_S + 1
    assert way.messages == 150_000


def test_dips_of_hosts_never_count_as_the_networks() -> None:
    """Both kinds are kept within the same bound, each in its own list."""
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for second in range(MOST_DIPS + 50):
        slow = slow_messages(second + 0.4, 3, time_s=0.02, stopped_s=0.02)
        watch.add(make_record(second, slow), START_S + second + 1)
    way = watch.directions[0]
    assert (len(way.dips), way.more_dips) == (0, 0)
    assert (len(way.host_pauses), way.host_dips) == (MOST_DIPS, MOST_DIPS + 50)


def test_a_slowdown_is_reported_while_it_lasts_and_once() -> None:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    lasting = []
    for second in range(20):
        slow = slow_messages(second, 50) if 3 <= second < 15 else ()
        record = make_record(second, slow)
        watch.add(record, record.at_s)
        lasting += [(second, dip) for dip in [watch.find_lasting(record)] if dip is not None]
    ((second, dip),) = lasting
    assert second == 8
    assert dip.length_s >= LASTING_S
    assert (dip.origin, dip.kind, dip.worst_s) == ("c1", "rate", 3.6e-3)


def test_a_slowdown_of_a_host_is_not_reported_as_the_networks() -> None:
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for second in range(20):
        record = make_record(second, slow_messages(second, 50, stopped_s=3e-3))
        watch.add(record, record.at_s)
        assert watch.find_lasting(record) is None


def watch_pause(stopped_s: float) -> tuple[SoakWatch, Stuck]:
    """Return a watch after c2 wrote nothing for 6 s, and the direction that was stuck meanwhile."""
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for rank in range(2):
        watch.add(make_record(0, rank=rank), START_S + 1)
    waiting = make_record(6, waiting_s=5.9)
    watch.add(waiting, START_S + 7)
    named = watch.find_waiting(waiting, START_S + 7)
    assert named is not None
    stuck = Stuck("c1", named[0], START_S + 7 - named[1], START_S + 7)
    watch.add(make_record(6.1, rank=1, stopped_s=stopped_s), START_S + 7.1)
    return watch, stuck


def test_a_pause_of_the_receiver_explains_its_stuck_direction() -> None:
    watch, stuck = watch_pause(6.0)
    explained = watch.explain(stuck)
    assert (explained.origin, explained.target, explained.paused_s) == ("c2", "", 6.0)
    assert watch.find_waiting(make_record(7, waiting_s=6.0), START_S + 7.2) is None
    silent = Stuck("c2", "", START_S + 1, START_S + 7, NO_ANSWER)
    assert (watch.explain(silent).state, watch.explain(silent).paused_s) == ("", 6.0)


def test_a_short_pause_explains_nothing_and_a_stopped_rank_stays() -> None:
    watch, stuck = watch_pause(1.5)
    assert watch.explain(stuck) is stuck
    watch, _ = watch_pause(6.0)
    stopped = Stuck("c2", "", START_S + 1, START_S + 7, "its rank is stopped by a signal (state T)")
    assert watch.explain(stopped) is stopped
    later = Stuck("c1", "c2", START_S + 20, START_S + 26)
    assert watch.explain(later) is later


def test_octets_of_interfaces_and_ports_are_summed() -> None:
    rises = {"eth0": {"rx_bytes": 10, "tx_bytes": 20}, "eth1": {}}
    watch, _ = watch_records(make_record(0, rises=rises), make_record(1, rises=rises))
    assert watch.octets["c1"].sent == {"eth0": 40, "eth1": 0}
    assert watch.octets["c1"].received == {"eth0": 20, "eth1": 0}
    assert watch.octets["c1"].unread == ""
    reset = make_record(0, rises={"eth0": {"tx_bytes": -5}})
    watch, _ = watch_records(reset, make_record(0, rank=1))
    assert "backwards" in watch.octets["c1"].unread
    assert watch.octets["c2"].unread


FIXTURES = Path(__file__).parents[2] / "fixtures" / "soak"
#: Pauses of the sender and the receiver while and before a slow message was under way.
Pauses = tuple[float, float]
#: The fifth one's pauses explain all but two of its messages.
TOGGLES_S = (1795748408.55, 1795748418.93, 1795748428.23, 1795748438.53, 1795748448.90)


def read_records(case: str) -> list[SoakRecord]:
    text = (FIXTURES / f"ompi-4.1--{case}.jsonl").read_text("utf-8")
    return [record for record in map(parse_record, text.splitlines()) if record is not None]


def watch_recorded(case: str) -> tuple[SoakWatch, list[Dip]]:
    watch = SoakWatch(("c1", "c2"), 19.6608e-3, 1.0)
    dips = [dip for record in read_records(case) for dip in watch.add(record, record.at_s)]
    return watch, dips + watch.close()


def test_each_recorded_toggle_is_one_event_of_its_direction() -> None:
    leads = [event.lead for event in join_dips(watch_recorded("toggled")[1])]
    assert [(lead.origin, lead.target, lead.kind) for lead in leads] == [("c1", "c2", "rate")] * 5
    for lead, at_s in zip(leads, TOGGLES_S, strict=True):
        assert lead.at_s == pytest.approx(at_s, abs=0.15)
        assert 0.1 < lead.length_s < 0.26


def test_slow_messages_of_a_quiet_lab_are_no_dip() -> None:
    """A round trip took 24 ms, and two messages in a row 8.7 and 18.4 ms."""
    watch, dips = watch_recorded("quiet")
    assert {dip.source for dip in dips} <= {"host"}
    assert sum(way.short_delays for way in watch.directions) > 5
    assert [way.unexplained for way in watch.directions] == [0, 1]


def split_at_seconds(slow: Sequence[tuple[float, float, float, float]]) -> list[SoakRecord]:
    """Return the records of some seconds, each with the messages that ended in it."""
    ends = [at_s + time_s - START_S for at_s, time_s, _, _ in slow]
    return [
        make_record(second, [slow[place] for place, end in enumerate(ends) if int(end) == second])
        for second in range(5)
    ]


def plant_toggle(begin_s: float, share: float, pauses: Sequence[Pauses]) -> list[SoakRecord]:
    """Return records with a lower rate, in which a link works on while processes pause."""
    slow = [
        (START_S + begin_s + place * PERIOD_S, max(USUAL_S / share, USUAL_S + own_s), own_s, peer_s)
        for place, (own_s, peer_s) in enumerate(pauses)
    ]
    return split_at_seconds(slow)


pauses = st.tuples(st.floats(0, 10e-3), st.floats(0, 20e-3))


#: Pauses that do not explain the delay of a fall to 30 %; those of the receiver came before it.
sparing = st.tuples(st.floats(0, 1e-3), st.floats(0, 1e-3) | st.floats(6e-3, 20e-3))


@given(
    st.floats(0.5, 3),
    st.lists(pauses, min_size=2, max_size=9),
    st.lists(sparing, min_size=3, max_size=3),
    st.randoms(use_true_random=False),
)
def test_a_fall_to_30_percent_is_named_if_pauses_spare_three_messages(
    begin_s: float, some: list[Pauses], spared: list[Pauses], random: Random
) -> None:
    """Whatever hosts do to the others for less than half of the time, wherever a record ends."""
    stopped = [*some, *spared]
    assume(sum(map(sum, stopped)) < 0.5 * (len(stopped) - 1) * PERIOD_S)
    random.shuffle(stopped)
    _, (dip,) = watch_records(*plant_toggle(begin_s, 0.3, stopped))
    assert (dip.source, dip.messages) == ("network", len(stopped))


@given(st.floats(0.5, 3), st.lists(pauses, min_size=9, max_size=11), st.integers(0, 8))
def test_a_fall_to_half_is_named_if_pauses_spare_five_messages(
    begin_s: float, stopped: list[Pauses], first: int
) -> None:
    spared = {(first + 2 * place) % 9 for place in range(5)}
    met = [(0.0, 0.0) if place in spared else pair for place, pair in enumerate(stopped)]
    _, (dip,) = watch_records(*plant_toggle(begin_s, 0.5, met))
    assert dip.source == "network"


@given(
    st.lists(pauses, min_size=1, max_size=40), st.floats(0.5, 3), st.sampled_from((0.3e-3, USUAL_S))
)
def test_delays_that_pauses_explain_are_never_the_networks(
    stopped: list[Pauses], begin_s: float, usual_s: float
) -> None:
    """However many of them follow each other, at 1 Gb/s and where 16 MiB take 0.3 ms."""
    slow = [
        (START_S + begin_s + place * PERIOD_S, usual_s + own_s + peer_s, own_s, peer_s)
        for place, (own_s, peer_s) in enumerate(stopped)
    ]
    records = [
        msgspec.structs.replace(record, usual_s=usual_s) for record in split_at_seconds(slow)
    ]
    assert all(dip.source == "host" for dip in watch_records(*records)[1])


@pytest.mark.parametrize("usual_s", [0.3e-3, USUAL_S])
@pytest.mark.parametrize(("own_s", "peer_s", "source"), [
    (3e-3, 0.0, "host"), (0.0, 3e-3, "host"), (1.5e-3, 1.5e-3, "host"), (0.5e-3, 0.0, "network"),
])  # fmt: skip
def test_five_slow_messages_in_a_row_need_an_unexplained_delay(
    usual_s: float, own_s: float, peer_s: float, source: str
) -> None:
    """Each is 3 ms late, which the pauses explain wholly or in part."""
    slow = [(START_S + 1.2 + place * PERIOD_S, usual_s + 3e-3, own_s, peer_s) for place in range(5)]
    _, (dip,) = watch_records(make_record(1, slow, usual_s=usual_s), make_record(2))
    assert (dip.source, dip.messages) == (source, 5)


def test_a_host_that_pauses_all_the_time_delays_messages_as_evenly_as_a_network() -> None:
    """A moment of a quiet lab: the receiver paused for 87 ms around messages that took 30 ms."""
    seen = [(4.89, 14.84), (3.97, 17.07), (9.39, 25.69), (5.57, 14.11), (6.02, 15.81)]
    slow = [
        (START_S + 1.2 + place * PERIOD_S, time_ms * 1e-3, 0.0, peer_ms * 1e-3)
        for place, (time_ms, peer_ms) in enumerate(seen)
    ]
    _, (dip,) = watch_records(make_record(1, slow), make_record(2))
    assert (dip.source, dip.messages) == ("host", 5)


@pytest.mark.parametrize(("late_s", "rises", "is_dip"), [
    (20e-3, {"rx_errors": 1}, True), (6e-3, {"rx_errors": 1}, True),
    (4e-3, {"rx_errors": 1}, False), (20e-3, {"rx_errors": 0}, False),
    (20e-3, {"rx_dropped": 1}, False), (20e-3, {}, False),
])  # fmt: skip
@pytest.mark.parametrize("rank", [0, 1])
def test_a_late_message_with_an_error_of_a_port_is_a_dip(
    late_s: float, rises: dict[str, int], is_dip: bool, rank: int
) -> None:
    """The port is that of the sender or the receiver."""
    counted: dict[int, Any] = {rank: {"port_rises": {"mlx5_0:1": rises}}}
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    watch.add(make_record(1, rank=1, **counted.get(1, {})), START_S + 2)
    slow = slow_messages(1.4, 1, time_s=USUAL_S + late_s)
    watch.add(make_record(1, slow, **counted.get(0, {})), START_S + 2)
    watch.add(make_record(2), START_S + 3)
    way = watch.directions[0]
    is_late = late_s >= 5e-3
    assert (len(way.dips), way.unexplained) == (is_dip, is_late and not is_dip)


def test_late_messages_count_as_unexplained_beyond_all_pauses() -> None:
    """The third one's pauses leave 4 ms; TCP sent segments again in the second's interval."""
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    for second, (late_s, own_s, resent) in enumerate(
        [(20e-3, 0.0, 0), (9e-3, 2e-3, 1), (20e-3, 16e-3, 1), (0.0, 0.0, 1)]
    ):
        slow = [(START_S + second + 0.4, USUAL_S + late_s, own_s, 0.0)] if late_s else []
        watch.add(make_record(second, slow, retransmitted_segments=resent), START_S + second + 1)
    watch.close()
    way = watch.directions[0]
    assert (way.dips, way.unexplained, way.resent) == ([], 2, 1)
    assert way.unexplained_s == pytest.approx(20e-3)


@pytest.mark.parametrize(("delays_ms", "is_dip"), [
    ([24], False), ([49], False), ([51], True), ([6, 6], False), ([7, 7], True),
    ([1.6, 1.6, 1.6], False), ([2, 2, 2], True),
])  # fmt: skip
def test_few_messages_must_lose_more(delays_ms: list[float], is_dip: bool) -> None:
    """Hosts delay a single message by milliseconds without a pause that a process sees."""
    slow = [
        (START_S + 1.2 + place * PERIOD_S, USUAL_S + delay_ms * 1e-3, 0.0, 0.0)
        for place, delay_ms in enumerate(delays_ms)
    ]
    watch, dips = watch_records(make_record(1, slow), make_record(2))
    assert (len(dips), watch.directions[0].short_delays) == ((1, 0) if is_dip else (0, 1))


def test_thirty_quiet_minutes_have_no_dip() -> None:
    """Hosts delay as they did in a quiet lab: pauses, and single delays without one."""
    random = Random(7)  # noqa: S311 -- no secret
    watch = SoakWatch(("c1", "c2"), PERIOD_S, 1.0)
    dips = list[Dip]()
    for second in range(1800):
        for rank in range(2):
            slow = []
            for place in sorted(random.sample(range(50), random.choice([0, 1, 1, 2]))):
                delay_s = min(0.025, 0.8e-3 + random.expovariate(1 / 2e-3))
                stopped_s = 0.0 if random.random() < 0.04 else delay_s
                pair = random.choice([(stopped_s, 0.0), (0.0, stopped_s)])
                slow.append((START_S + second + place * PERIOD_S, USUAL_S + delay_s, *pair))
            dips += watch.add(make_record(second, slow, rank=rank), START_S + second + 1)
    dips += watch.close()
    assert len(dips) > 100
    assert {dip.source for dip in dips} == {"host"}
    assert min(way.short_delays for way in watch.directions) > 100


times = st.floats(0, 100)
slow_lists = st.lists(st.tuples(st.floats(0, 2e9), times, times, times), max_size=5)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 2e9), slow_lists, slow_lists), max_size=12)
)
def test_any_records_have_an_answer(entries: Any) -> None:
    watch, dips = SoakWatch(("c1", "c2"), PERIOD_S, 1.0), list[Dip]()
    for rank, at_s, slow, ping_slow in entries:
        record = make_record(0, slow, rank=rank, at_s=at_s, ping_slow=tuple(ping_slow))
        dips += watch.add(record, at_s)
    dips += watch.close()
    assert all(dip.length_s >= 0 and dip.messages > 0 for dip in dips)


@pytest.mark.parametrize(
    "line", ["", "{", "[mpiexec] warning", '{"record":"case"}', '{"record":"soak","rank":"x"}']
)
def test_a_line_that_is_no_record_is_none(line: str) -> None:
    assert parse_record(line) is None


def test_a_record_is_read_as_written() -> None:
    record = make_record(1, slow_messages(1.4, 2))
    assert parse_record(msgspec.json.encode(record).decode()) == record
