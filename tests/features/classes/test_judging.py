"""The outcome of a victim beside bulk: planted figures, and what holds for all figures."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.docs.json_schemas import require_fit

from fabricgauge.features.classes.content import KIND
from fabricgauge.features.classes.judging import MeasuredClasses, VictimTime, judge
from fabricgauge.features.classes.measuring import plan_bulk
from fabricgauge.features.classes.setting import TrafficClass
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

HIGH, LOW = TrafficClass("traffic-class", 184), TrafficClass("traffic-class", 0)
CEILING = 2.4e6
IDLE_S, SHARED_S = 5e-5, 2.6e-2


def make_times(
    own_s: float | None, shared_s: float = SHARED_S, idle_s: float = IDLE_S, rounds: int = 3,
    **fields: Any,
) -> tuple[VictimTime, ...]:  # fmt: skip
    """Return the victim's times of all rounds; without ``own_s`` both share a class."""
    loaded = {"bulk_bytes_per_s": 2.3e6, "bulk_cases": 2, **fields}
    return tuple(
        time
        for number in range(1, rounds + 1)
        for time in (
            VictimTime(number, "idle", idle_s, 2 * idle_s, 5000),
            VictimTime(number, "shared", shared_s, 2 * shared_s, 40, **loaded),
            *((VictimTime(number, "own", own_s, 2 * own_s, 500, **loaded),) if own_s else ()),
        )
    )


def make_measured(times: tuple[VictimTime, ...], **fields: Any) -> MeasuredClasses:
    shares = not any(time.phase == "own" for time in times)
    measured = MeasuredClasses(
        "net1", ("c1", "c2"), LOW if shares else HIGH, LOW, "--transport sockets:traffic-class=184",
        "--transport sockets:traffic-class=0", 8, 65536, times, (), CEILING, Outcome.PASS,
        "the bytes crossed eth0",
    )  # fmt: skip
    return msgspec.structs.replace(measured, **fields)


@pytest.mark.parametrize(
    ("own_s", "outcome", "reason"),
    [
        # Less than five frames of 9000 B, each 3.75 ms here.
        (2e-3, Outcome.PASS, "in traffic class 184 (40 times)"),
        (0.5 * SHARED_S, Outcome.PASS, ""),
        (0.6 * SHARED_S, Outcome.WARN, "no queue on the way prefers"),
        (SHARED_S, Outcome.WARN, "26.0 ms in bulk's traffic class 0 (520 times)"),
        (None, Outcome.WARN, "the same traffic class 0: 520 times"),
    ],
)
def test_a_class_passes_if_it_halves_the_time_under_bulk(
    own_s: float | None, outcome: Outcome, reason: str
) -> None:
    judged, sentence = judge(make_measured(make_times(own_s)))
    assert judged is outcome
    assert reason in sentence


@pytest.mark.parametrize(
    ("own_s", "waiting", "outcome"),
    [
        # Five times idle, and a frame of 9000 B at 12.5 GB/s, are 13.6 µs.
        (13e-6, False, Outcome.PASS),
        (14e-6, False, Outcome.WARN),
        (100e-6, False, Outcome.WARN),
        (100e-6, True, Outcome.INCONCLUSIVE),
        (101e-6, False, Outcome.WARN),
    ],
)
@pytest.mark.parametrize("ceiling", [12.5e9, 0.0])
def test_a_class_that_halves_the_time_and_still_waits_is_a_warning(
    own_s: float, waiting: bool, outcome: Outcome, ceiling: float
) -> None:
    times = make_times(
        own_s, shared_s=200e-6, idle_s=2e-6, bulk_bytes_per_s=12.4e9, waiting=waiting
    )
    judged, sentence = judge(make_measured(times, ceiling_bytes_per_s=ceiling))
    assert judged is outcome
    halves = own_s <= 100e-6
    assert ("still holds it up" in sentence) == (halves and outcome is Outcome.WARN)


def test_a_shared_class_passes_if_the_latency_hardly_grows() -> None:
    assert judge(make_measured(make_times(None, shared_s=4 * IDLE_S)))[0] is Outcome.PASS


def test_an_open_link_shows_no_queue_that_a_class_could_pass() -> None:
    outcome, reason = judge(make_measured(make_times(IDLE_S, shared_s=1.9 * IDLE_S)))
    assert outcome is Outcome.INCONCLUSIVE
    assert "1.9 times" in reason


def test_bulk_that_did_not_fill_the_link_decides_nothing() -> None:
    times = make_times(SHARED_S, bulk_bytes_per_s=0.4 * CEILING)
    outcome, reason = judge(make_measured(times))
    assert outcome is Outcome.INCONCLUSIVE
    assert "40.0 % of the ceiling" in reason
    unknown = make_measured(times, ceiling_bytes_per_s=0.0)
    assert judge(unknown)[0] is Outcome.WARN


def test_bulk_of_which_no_case_ended_decides_nothing() -> None:
    assert judge(make_measured(make_times(2e-3, bulk_cases=0)))[0] is Outcome.INCONCLUSIVE


def test_rounds_that_disagree_decide_nothing() -> None:
    times = (*make_times(2e-3, rounds=2), *make_times(SHARED_S, rounds=3)[-3:])
    outcome, reason = judge(make_measured(times))
    assert outcome is Outcome.INCONCLUSIVE
    assert "disagree" in reason


def test_waits_for_a_processor_are_not_blamed_on_the_class() -> None:
    for own_s in (SHARED_S, None):
        outcome, reason = judge(make_measured(make_times(own_s, waiting=True)))
        assert outcome is Outcome.INCONCLUSIVE
        assert "waited for a processor" in reason
    assert judge(make_measured(make_times(2e-3, waiting=True)))[0] is Outcome.PASS


@pytest.mark.parametrize(
    ("fields", "outcome", "reason"),
    [
        ({"path": Outcome.INVALID, "path_reason": "crossed lo"}, Outcome.INVALID, "crossed lo"),
        ({"path": Outcome.INCONCLUSIVE, "path_reason": "unread"}, Outcome.INCONCLUSIVE, "unread"),
        ({"emulated": True}, Outcome.INCONCLUSIVE, "emulated"),
        ({"unheeded": "no libucp"}, Outcome.INCONCLUSIVE, "no libucp"),
        ({"failures": ("round 2: broke",)}, Outcome.INCONCLUSIVE, "round 2: broke"),
        ({"interrupted": True}, Outcome.INCONCLUSIVE, "interrupted"),
        ({"times": ()}, Outcome.INCONCLUSIVE, "no figure without bulk"),
    ],
)
def test_what_is_not_proved_is_not_judged(
    fields: dict[str, Any], outcome: Outcome, reason: str
) -> None:
    measured = msgspec.structs.replace(make_measured(make_times(2e-3)), **fields)
    judged, sentence = judge(measured)
    assert judged is outcome
    assert reason in sentence


seconds = st.floats(1e-6, 1.0)


@given(seconds, seconds, st.one_of(st.none(), seconds), st.booleans())
def test_nothing_fails_and_a_pass_has_its_figures(
    idle_s: float, shared_s: float, own_s: float | None, waiting: bool
) -> None:
    measured = make_measured(make_times(own_s, shared_s, idle_s, waiting=waiting))
    outcome, _ = judge(measured)
    assert outcome in (Outcome.PASS, Outcome.WARN, Outcome.INCONCLUSIVE)
    if outcome is Outcome.PASS and own_s is not None:
        assert own_s <= 0.5 * shared_s and shared_s >= 2 * idle_s
        assert own_s < 5 * (idle_s + 9000 / CEILING)
    if outcome is Outcome.WARN:
        assert not waiting
        assert (
            (shared_s > 4.9 * idle_s)
            if own_s is None
            else (own_s > 0.5 * shared_s or own_s >= 5 * idle_s)
        )


@given(st.floats(1e5, 1e11))
def test_three_windows_of_bulk_fit_into_its_case(rate_bytes_per_s: float) -> None:
    case = plan_bulk(rate_bytes_per_s)
    window_s = case.message_bytes * case.window / rate_bytes_per_s
    assert case.budget_s >= max(1.0, 3 * window_s) * (1 - 1e-9)
    assert case.message_bytes * case.window >= 2**19 and case.window >= 2


@pytest.mark.parametrize("own_s", [2e-3, None])
def test_every_format_shows_the_figures_of_each_class(own_s: float | None) -> None:
    measured = make_measured(make_times(own_s))
    formats = formats_of(KIND)
    setting = Setting(width=100, run_directory="/runs/1")
    texts = {name: formats[name](measured, setting) for name in formats}
    for name in ("terminal", "html", "markdown"):
        assert "26.0 ms" in texts[name] and "under bulk, in traffic class 0" in texts[name]
    assert texts["csv"].count("\n") == 1 + len(measured.times)
    document = json.loads(texts["json"])
    assert document["overall"] == judge(measured)[0].value
    require_fit("classes-report", document)


def test_an_idle_victim_that_waits_for_a_processor_hides_what_bulk_adds() -> None:
    idle = (
        msgspec.structs.replace(time, waiting=time.phase == "idle") for time in make_times(SHARED_S)
    )
    outcome, reason = judge(make_measured(tuple(idle)))
    assert outcome is Outcome.WARN, reason  # bulk held it up far beyond its idle time
    slow = make_times(6e-3, shared_s=6e-3, idle_s=4.1e-2)
    waiting = (msgspec.structs.replace(time, waiting=time.phase == "idle") for time in slow)
    outcome, reason = judge(make_measured(tuple(waiting)))
    assert outcome is Outcome.INCONCLUSIVE
    assert "waited for a processor without bulk" in reason
    shared = make_times(None, shared_s=6e-3, idle_s=4.1e-2)
    waiting = (msgspec.structs.replace(time, waiting=time.phase == "idle") for time in shared)
    assert judge(make_measured(tuple(waiting)))[0] is Outcome.INCONCLUSIVE
