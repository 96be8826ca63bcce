"""Intervals of a log: a rate that falls and a stream that stops are named, scatter is not."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hunt.logs import perftest
from tests.logs.test_logs_as_seen import FAIL, PASS, TWO, WARN, judged

from fabricgauge.model.verdict import Outcome

FULL_GBIT_S = 9.41
STEADY = [FULL_GBIT_S] * 10
FALLEN = [FULL_GBIT_S] * 5 + [0.94] * 5


def iperf3_text(rates: Sequence[float], connections: int = 1, before: str = "") -> str:
    head = "[ ID] Interval           Transfer     Bitrate\n"
    names = [f"[{5 + 2 * number:>3}]" for number in range(connections)]
    names += ["[SUM]"] * (connections > 1)

    def rows(start: int, end: int, gbit_s: float, after: str = "") -> str:
        text = ""
        for name in names:
            rate = gbit_s if name == "[SUM]" else gbit_s / connections
            moved = f"{rate / 8 * (end - start):.3f} GBytes  {rate:.3f} Gbits/sec"
            text += f"{name} {start:>3}.00-{end:.2f}  sec  {moved}{after}\n"
        return text

    mean = sum(rates) / len(rates)
    return (
        "Connecting to host 10.0.0.2, port 5201\n" + before
        + "".join(
            f"{name} local 10.0.0.1 port 4122{place} connected to 10.0.0.2 port 5201\n"
            for place, name in enumerate(names) if name != "[SUM]"
        )
        + head + "".join(rows(second, second + 1, rate) for second, rate in enumerate(rates))
        + f"- - - - -\n{head}" + rows(0, len(rates), mean, "    0   sender")
        + rows(0, len(rates), mean, "        receiver") + "\niperf Done.\n"
    )  # fmt: skip


def iperf3_json(rates: Sequence[float]) -> str:
    def total(gbit_s: float, seconds: float) -> dict[str, object]:
        bits = gbit_s * 1e9
        return {"seconds": seconds, "bits_per_second": bits, "retransmits": 0, "omitted": False}

    whole = total(sum(rates) / len(rates), len(rates))
    ends = {"local_host": "10.0.0.1", "remote_host": "10.0.0.2"}
    test = {"protocol": "TCP", "num_streams": 1, "duration": len(rates)}
    start = {"connected": [ends], "version": "iperf 3.12", "test_start": test}
    intervals = [{"sum": total(rate, 1.0)} for rate in rates]
    end = {"sum_sent": whole, "sum_received": whole}
    return json.dumps({"start": start, "intervals": intervals, "end": end}, indent=1)


def iperf2_text(rates: Sequence[float]) -> str:
    rows = [
        f"[  3] {5.0 * place:4.1f}-{5.0 * place + 5:4.1f} sec  1.00 GBytes  {rate} Gbits/sec\n"
        for place, rate in enumerate(rates)
    ]
    return (
        "Client connecting to 10.0.0.2, TCP port 5001\n"
        "[  3] local 10.0.0.1 port 41612 connected with 10.0.0.2 port 5001\n"
        "[ ID] Interval       Transfer     Bandwidth\n" + "".join(rows)
        + f"[  3]  0.0-{5.0 * len(rates):4.1f} sec  1.00 GBytes"
        f"  {sum(rates) / len(rates):.2f} Gbits/sec\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        (iperf3_json(FALLEN), FAIL, "fell from 1,176.2 MB/s to 117.50 MB/s after 5.00 s"),
        (iperf3_text(FALLEN), FAIL, "fell from 1,176.2 MB/s to 117.50 MB/s after 5.00 s"),
        (iperf3_text(FALLEN, connections=8), FAIL, "after 5.00 s of 10.0 s"),
        (
            iperf3_text(
                FALLEN, before="Reverse mode, remote host 10.0.0.2 is sending\n"
            ), FAIL, "fell from",
        ),
        (iperf2_text([FULL_GBIT_S, 0.939]), FAIL, "fell from"),
        (iperf3_text(FALLEN[::-1]), FAIL, "rose from 117.50 MB/s to 1,176.2 MB/s"),
        (iperf3_text([9.41, 9.41, 4.0, 4.0] * 8), FAIL, "changes 15 times"),
        (iperf3_json([9.41, 0.0, 9.41, 0.0] + [9.41] * 56), WARN, "2 intervals (2.00 s"),
        (iperf3_text([9.41, 0.0, 9.41, 0.0] + [9.41] * 56), WARN, "2 intervals (2.00 s"),
        (iperf3_text([9.41, 0.0, 9.41, 9.41, 9.41] * 2), FAIL, "2 intervals (2.00 s of 10.0 s)"),
    ],
)  # fmt: skip
def test_a_rate_that_changes_between_intervals(text: str, outcome: Outcome, said: str) -> None:
    (found,) = judged(text, "10GbE")
    assert found.outcome is outcome
    assert said in (found.summary if outcome is WARN else found.cause), found


@pytest.mark.parametrize(
    "rates",
    [
        STEADY,
        [3.1, *STEADY * 3],  # TCP starts slowly
        [*STEADY, 0.0],  # the last interval after the sender's end
        [9.4, 9.2, 9.4, 8.8, 9.4] * 6,
    ],
)
def test_a_slow_start_and_usual_scatter_say_nothing(rates: Sequence[float]) -> None:
    whole = iperf3_text(rates).replace(f"{sum(rates) / len(rates):.3f}", "9.390")
    (found,) = judged(whole, "10GbE")
    assert (found.outcome, found.rule) == (PASS, "fraction"), found


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.002, 0.01, 5.0, 9.41]), min_size=1, max_size=30))
def test_any_rates_are_judged(rates: Sequence[float]) -> None:
    (found,) = judged(iperf3_json(rates), "10GbE")
    assert found.outcome is not PASS or min(rates[3:-1], default=9.41) > 1.0


def test_a_step_of_a_fifth_is_no_change_of_a_links_rate() -> None:
    causes = [judged(iperf3_text([9.41] * 5 + [low] * 5), "10GbE")[0].cause for low in (7.5, 6.8)]
    assert ["fell from" in cause for cause in causes] == [False, True]


def test_one_connection_that_had_filled_a_fast_link_is_not_laid_to_its_processor() -> None:
    low, fallen = ([rate * 2.5 for rate in rates] for rates in ([4.7] * 10, FALLEN))
    (of_processor,) = judged(iperf3_text(low), "25GbE")
    (found,) = judged(iperf3_text(fallen), "25GbE")
    assert of_processor.outcome is Outcome.INCONCLUSIVE
    assert found.outcome is FAIL and "fell from" in found.cause


def run_infinitely(*gbit_s: float) -> str:
    rows = "".join(
        f" 1048576    5000             0.00              {rate:.2f}\t\t   {rate / 8388.608:.6f}\n"
        for rate in gbit_s
    )
    before, _, after = perftest(0.0).partition(" 1048576 ")
    return before + rows + after.partition("\n")[2]


@pytest.mark.parametrize(("rates", "outcome"), [([98.0] * 9, PASS), ([98.0] * 3 + [9.8] * 6, FAIL)])
def test_periods_of_perftest(rates: Sequence[float], outcome: Outcome) -> None:
    (found,) = judged(run_infinitely(*rates), "edr", TWO)
    assert found.outcome is outcome
    assert outcome is PASS or "after 3 rows of 9" in found.summary


def test_a_row_of_perftest_is_held_against_its_own_message_rate() -> None:
    text = run_infinitely(98.0, 98.0, 97.0).replace("0.011563", "0.001156")
    (found,) = judged(text, "edr", TWO)
    assert (found.outcome, found.rule) == (WARN, "stability")
    assert "messages/s" in found.summary


@given(st.lists(st.floats(8.9, 9.41), min_size=1, max_size=40), st.integers(0, 2))
def test_scatter_of_a_twentieth_is_steady(rates: Sequence[float], slow: int) -> None:
    (found,) = judged(iperf3_json([1.0] * min(slow, len(rates) // 3) + [*rates]), "10GbE")
    said = any(word in found.cause for word in ("fell", "rose", "times between", "nothing"))
    assert found.rule != "stability" and not said
