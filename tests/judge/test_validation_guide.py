"""The tables of "Interconnect Performance Validation" (Reed, rev. 1.2, November 2021).

The guide measured 1 Gb/s Ethernet as it is, and published two tables as "40 Gb/s
Ethernet" and "Omni-Path" in which both ranks shared a node.
"""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.judge.ceiling.ethernet import ceiling
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

#: osu_put_bw over 1 Gb/s Ethernet: message size in bytes, MB/s.
PUT_MB_PER_S = {
    1: 0.20, 8: 1.58, 64: 10.22, 512: 65.06, 1024: 84.70, 4096: 106.42, 16384: 113.80,
    65536: 116.06, 262144: 116.76, 1048576: 116.92, 2097152: 116.95, 4194304: 116.96,
}  # fmt: skip

#: IMB-P2P PingPong over 1 Gb/s Ethernet: message size in bytes, µs.
ONE_GIGABIT_US = {
    0: 49.81, 8: 56.44, 64: 72.15, 128: 88.67, 256: 63.22, 1024: 62.91, 4096: 126.80,
    65536: 625.94, 1048576: 9232.21, 4194304: 36276.94,
}  # fmt: skip

#: The same, published as 40 Gb/s Ethernet.
FORTY_GIGABIT_US = {
    0: 0.44, 8: 0.47, 64: 0.49, 1024: 0.96, 16384: 3.47, 65536: 14.55, 131072: 27.19,
    262144: 52.57, 524288: 106.64, 1048576: 251.05, 2097152: 534.80, 4194304: 1061.48,
}  # fmt: skip

#: The same, published as Omni-Path, 100 Gb/s.
OMNI_PATH_US = {
    0: 0.20, 8: 0.32, 64: 0.32, 1024: 0.47, 16384: 2.30, 65536: 6.64, 262144: 27.18,
    1048576: 112.05, 4194304: 753.04,
}  # fmt: skip


def network(rate_bit_s: float, technology: str = "ethernet") -> Network:
    members = planted.network().members
    return Network("net1", "10.77.0.0/24", technology, rate_bit_s, "the guide", members)


def ping_pong(microseconds: dict[int, float], of: Network) -> Run:
    samples = (
        planted.Sample("latency", size, 0, time_us * 1e-6) for size, time_us in microseconds.items()
    )
    launch = planted.launch(planted.measurement(one) for one in samples)
    return planted.run([launch], of=Fabric((planted.node(1), planted.node(2)), (), (of,)))


def judged(run: Run) -> tuple[Verdict, ...]:
    (of,) = run.fabric.networks
    return planted.judge(run, {"net1": ceiling(of)})


def test_put_bandwidth_of_the_guide_is_99_4_percent_of_what_is_possible() -> None:
    samples = (
        planted.Sample("put_bandwidth", size, 0, planted.WINDOW * size / (rate * 1e6))
        for size, rate in PUT_MB_PER_S.items()
    )
    run = planted.run([planted.launch(planted.measurement(one) for one in samples)])
    given = planted.verdicts(run)
    verdict = planted.the(given, "fraction", Outcome.PASS)
    assert "116.96 MB/s per direction at 4 MiB" in verdict.summary
    assert "= 99.4 % of 117.69 MB/s" in verdict.summary
    assert planted.outcomes(given, "above-ceiling") == {Outcome.PASS}


def test_ping_pong_at_one_gigabit_is_plausible_and_has_a_dip() -> None:
    given = judged(ping_pong(ONE_GIGABIT_US, network(1e9)))
    assert planted.outcomes(given, "floor") == {Outcome.PASS}
    assert planted.outcomes(given, "above-ceiling") == {Outcome.PASS}
    assert "from 128 B to 256 B" in planted.the(given, "dips", Outcome.WARN).summary


def test_table_called_forty_gigabit_is_invalid_three_times_over() -> None:
    given = judged(ping_pong(FORTY_GIGABIT_US, network(40e9)))
    assert "440 ns" in planted.the(given, "floor", Outcome.INVALID).summary
    above = planted.the(given, "above-ceiling", Outcome.INVALID)
    assert "256 KiB" in above.summary
    limit = ceiling(network(40e9))
    assert isinstance(limit, Ceiling)
    assert round(limit.payload_bytes_per_s / 1e6) == 4707
    peak = planted.by_rule(given, "cache-shape")[0]
    assert peak.outcome in (Outcome.WARN, Outcome.INVALID)


def test_table_called_omni_path_is_invalid() -> None:
    given = judged(ping_pong(OMNI_PATH_US, network(100e9, "omni-path")))
    assert planted.outcomes(given, "floor") == {Outcome.INVALID}
    assert "43.3 %" in planted.by_rule(given, "cache-shape")[0].summary


@pytest.mark.parametrize("latency_us", [0.93, 0.98, 1.17, 3.88])
def test_published_rdma_latencies_are_plausible(latency_us: float) -> None:
    run = ping_pong({8: latency_us}, network(100e9, "infiniband"))
    given = judged(msgspec.structs.replace(run, launches=planted.without_sockets(run.launches)))
    assert planted.outcomes(given, "floor") == {Outcome.PASS}
