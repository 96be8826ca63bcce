"""Published figures of sound fabrics pass, and the same with a fault do not."""

from pathlib import Path

import msgspec
import pytest
from tests.judge.cause_cases import write_bw
from tests.logs.test_logs_as_seen import (
    FAIL,
    INCONCLUSIVE,
    INVALID,
    PASS,
    WARN,
    judged,
    osu,
)

from fabricgauge.check.conclude import conclude
from fabricgauge.check.import_logs import Source, import_logs
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.progress import SILENT
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.store.run_directory import RunDirectory


def stream(*rows: tuple[int, float], title: str = "Bandwidth Test") -> str:
    return osu(title, "Bandwidth (MB/s)", rows)


def dips_of(name: str, tmp_path: Path) -> Verdict:
    known = reference(name)
    source = Source(name, known.curves, stated_network(known.network))
    run = import_logs([source], RunDirectory.create(tmp_path), (), SILENT)
    (verdict,) = (one for one in conclude(run, DEFAULTS).verdicts if one.rule == "dips")
    return verdict


def fractions_of_slingshot(
    tmp_path: Path, network: str, sum_mb_s: float
) -> tuple[Verdict, Verdict]:
    """Judge the published table with another figure of both directions."""
    known = reference("tutorial-slingshot-11-mpi")
    latency, one_way, both = known.curves
    (point,) = both.points
    value = sum_mb_s * 1e6
    estimate = msgspec.structs.replace(point.estimate, value=value, low=value, high=value)
    point = msgspec.structs.replace(point, estimate=estimate)
    curves = (latency, one_way, msgspec.structs.replace(both, points=(point,)))
    source = Source("published", curves, stated_network(network))
    run = import_logs([source], RunDirectory.create(tmp_path), (), SILENT)
    first, second = (one for one in conclude(run, DEFAULTS).verdicts if one.rule == "fraction")
    return first, second


@pytest.mark.parametrize(
    ("gbit_s", "size", "network", "outcome"),
    [
        (95.3, 16384, "edr", PASS),
        (95.3, 8192, "edr", INCONCLUSIVE),  # too small: the software decides
        (77.4, 16384, "edr", INCONCLUSIVE),  # larger messages may fill it
        (104.0, 16384, "edr", INVALID),  # more than the link carries
        (95.3, 65536, "edr", PASS),
        (48.0, 65536, "edr", FAIL),
        (95.3, 16384, "edr rails=2", INCONCLUSIVE),
    ],
)
def test_small_messages_decide_only_if_they_fill_the_link(
    gbit_s: float, size: int, network: str, outcome: Outcome
) -> None:
    message_rate = gbit_s * 1e3 / (8 * size)
    text = write_bw(gbit_s, size=size).replace("  0.2\n", f"  {message_rate:.6f}\n")
    (found,) = judged(text, network)
    assert found.outcome is outcome, found


def test_large_messages_decide_beside_small_ones_that_fill_the_link() -> None:
    (found,) = judged(stream((16384, 11_916.0), (65536, 10_500.0), (1 << 22, 10_500.0)), "edr")
    assert (found.rule, found.outcome) == ("fraction", FAIL)


@pytest.mark.parametrize(
    ("network", "sum_mb_s", "outcome"),
    [
        ("slingshot-11", 42_034.0, PASS),
        ("slingshot-11", 41_000.0, PASS),
        ("slingshot-11", 39_000.0, WARN),  # 78 % in each direction
        ("slingshot-11", 25_000.0, WARN),  # half duplex
        ("200GbE roce mtu=4096", 42_034.0, PASS),
        ("200GbE roce mtu=4096", 41_000.0, WARN),  # headers are taken off: 83 %
    ],
)
def test_both_ways_of_slingshot_have_their_own_limit(
    tmp_path: Path, network: str, sum_mb_s: float, outcome: Outcome
) -> None:
    one_way, both = fractions_of_slingshot(tmp_path, network, sum_mb_s)
    assert (one_way.outcome, both.outcome) == (PASS, outcome)
    assert "exchange" not in both.remedy
    if sum_mb_s == 39_000.0:  # no known rate is near
        assert "each direction alone" in both.remedy


def test_both_dips_of_a_published_table_are_named(tmp_path: Path) -> None:
    verdict = dips_of("guide-1gbe-imb-pingpong", tmp_path)
    assert verdict.outcome is Outcome.SKIPPED
    for sizes in ("from 128 B to 256 B", "from 128 KiB to 256 KiB"):
        assert sizes in verdict.summary


def test_a_rising_published_table_has_no_dip_to_name(tmp_path: Path) -> None:
    verdict = dips_of("tutorial-edr-send-bw", tmp_path)
    assert (verdict.outcome, verdict.evidence) == (Outcome.PASS, ())
