"""Both directions at once in a log, at half of what both carry, beside a full one-way table."""

import pytest
from tests.hunt.logs import EDR_MB_S, osu_bw, scaled
from tests.judge.test_rates_over_time import STEADY, iperf3_text
from tests.logs.test_logs_as_seen import INCONCLUSIVE, PASS, SKIPPED, TWO, WARN, judged

from fabricgauge.judge.tables import overall
from fabricgauge.model.verdict import Outcome


def both_ways(share: float) -> str:
    """A table of both directions that reaches this share of twice the one-way rate."""
    return osu_bw(scaled(EDR_MB_S, 2 * share), "Bi-Directional Bandwidth")


def bidirectional(back_gbit_s: float) -> str:
    """iperf3 --bidir: the client sends 9.41 Gb/s."""
    head = "[ ID][Role] Interval           Transfer     Bitrate\n"
    rows = "".join(
        f"[{5 + 2 * place:>3}][{role}-C]   0.00-10.00  sec  1.00 GBytes  {rate} Gbits/sec   {end}\n"
        for place, (role, rate) in enumerate((("TX", 9.41), ("RX", back_gbit_s)))
        for end in ("0  sender", "  receiver")
    )
    ends = "".join(
        f"[{number:>3}] local 10.0.0.1 port 4122{number} connected to 10.0.0.2 port 5201\n"
        for number in (5, 7)
    )
    return f"Connecting to host 10.0.0.2, port 5201\n{ends}{head}- - -\n{head}{rows}\niperf Done.\n"


@pytest.mark.parametrize(
    ("share", "outcome"), [(0.99, PASS), (0.90, SKIPPED), (0.80, WARN), (0.49, WARN)]
)
def test_a_two_way_table_beside_a_full_one_way_table(share: float, outcome: Outcome) -> None:
    one_way, both = judged(osu_bw() + both_ways(share), "edr", TWO)
    assert (one_way.outcome, both.outcome) == (PASS, outcome), both
    assert overall((one_way, both)) is (WARN if outcome is WARN else PASS)
    if outcome is WARN:
        assert both.rule == "fraction" and "link" not in both.cause.partition(":")[0]


def test_alone_a_low_two_way_table_warns_and_decides_nothing() -> None:
    (both,) = judged(both_ways(0.49), "edr", TWO)
    assert (both.outcome, overall((both,))) == (WARN, INCONCLUSIVE)


def test_a_two_way_table_that_ends_while_it_rises_says_nothing() -> None:
    rows = {size: 2 * size / (1.0 + size / 12300.0) for size in (1 << 14, 1 << 15, 1 << 16)}
    (both,) = judged(osu_bw(rows, "Bi-Directional Bandwidth"), "edr", TWO)
    assert both.rule == "completeness", both  # it ends early


@pytest.mark.parametrize(("back", "outcome"), [(9.35, PASS), (0.94, WARN)])
def test_one_direction_of_iperf3_at_a_tenth(back: float, outcome: Outcome) -> None:
    one_way, both = judged(iperf3_text(STEADY) + bidirectional(back), "10GbE")
    assert (one_way.outcome, both.outcome) == (PASS, outcome), both
