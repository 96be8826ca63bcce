"""Figures that others measured: the same rules, and nothing claimed that no log says."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement, overall
from fabricgauge.judge.rules import RULES
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import (
    LIMITED,
    Failure,
    LogEvidence,
    Quantity,
    SuiteCurve,
    SuitePoint,
    UnparsedLine,
    VerbsEnd,
)
from fabricgauge.model.verdict import Outcome

GIGABIT = Network(
    "1GbE", "0.0.0.0/0", "ethernet", 1e9, "stated", (), stated_mtu_bytes=1500,
)  # fmt: skip
LIMIT = 1e9 / 8 * 1448 / 1538
CEILING = Ceiling("1GbE", LIMIT, 1448, 1538, 0, "line rate", ())


def point(message_bytes: int | None, value: float, line: int = 2) -> SuitePoint:
    return SuitePoint(message_bytes, Estimate(value, value, value, 0.0, 1, 100), line)


def curve(
    points: Mapping[Any, float],
    pattern: Pattern | None = "bandwidth",
    quantity: Quantity = "bandwidth",
    **more: Any,
) -> SuiteCurve:
    made = SuiteCurve(
        suite="osu", version="7.4", benchmark="osu_bw", title="OSU", what="stream",
        quantity=quantity, statistic="mean", unit_rule="MB = 10^6 bytes", first_line=1,
        last_line=9, points=tuple(point(*one) for one in points.items()), pattern=pattern,
        source="a.out",
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def run(*curves: SuiteCurve, network: Network | None = GIGABIT, **more: Any) -> Run:
    launch = Launch(
        number=1, network=network.name if network else None, nodes=(), header=None,
        placements=(), measurements=(), ended=Ended(IMPORTED, 0, "", ("a.out",), 0.0),
        curves=curves,
    )  # fmt: skip
    return Run(
        identity="r", started_utc="", command=(), environment={},
        fabric=Fabric((), (), (network,) if network else ()),
        plan=Plan("import", Stopping(0, 0), False, (), tool="import"),
        launches=(msgspec.structs.replace(launch, **more),), complete=True,
    )  # fmt: skip


def outcomes(of: Run, ceiling: Ceiling | Skipped = CEILING) -> dict[str, Outcome]:
    judged = judgement(Context(of, {"1GbE": ceiling}))
    found = {one.rule: one.outcome for one in judged.verdicts}
    return {**found, "overall": judged.overall}


STREAM = {65536: 116e6, 1048576: 0.994 * LIMIT}


def test_a_stream_at_its_ceiling_passes_on_the_figures_alone() -> None:
    found = outcomes(run(curve(STREAM)))
    assert found["overall"] is Outcome.PASS
    assert (found["path"], found["placement"]) == (Outcome.SKIPPED, Outcome.SKIPPED)


def test_a_slow_stream_fails() -> None:
    assert outcomes(run(curve({1 << 20: 0.4 * LIMIT})))["overall"] is Outcome.FAIL


def test_a_stream_above_its_ceiling_is_invalid_whatever_else_passes() -> None:
    found = outcomes(run(curve(STREAM), curve({1 << 20: 1.03 * LIMIT})))
    assert found["overall"] is Outcome.INVALID


def test_a_slow_ping_pong_decides_nothing_but_a_fast_one_passes() -> None:
    size = 1 << 22
    slow = curve({size: size / (0.7 * LIMIT)}, "latency", "time")
    assert outcomes(run(slow))["overall"] is Outcome.INCONCLUSIVE
    fast = curve({size: size / (0.98 * LIMIT)}, "latency", "time")
    assert outcomes(run(fast))["overall"] is Outcome.PASS


def test_tcp_and_rdma_have_different_floors() -> None:
    quick = curve({0: 1.5e-6}, "latency", "time")
    assert outcomes(run(quick))["floor"] is Outcome.INVALID
    by_rdma = msgspec.structs.replace(quick, transport="rdma")
    assert outcomes(run(by_rdma))["floor"] is Outcome.PASS


def test_without_a_stated_network_nothing_is_invalid_and_nothing_passes() -> None:
    of = run(curve({0: 0.4e-6}, "latency", "time"), curve(STREAM), network=None)
    found = outcomes(of)
    assert found["floor"] is Outcome.WARN
    assert found["overall"] is Outcome.INCONCLUSIVE


def test_a_headline_without_a_size_is_judged_by_its_rate() -> None:
    assert outcomes(run(curve({None: 0.99 * LIMIT})))["overall"] is Outcome.PASS
    assert outcomes(run(curve({None: 1.02 * LIMIT})))["overall"] is Outcome.INVALID


def test_both_directions_summed_are_halved() -> None:
    both = curve({1 << 20: 1.96 * LIMIT}, "bidirectional_bandwidth", "bandwidth", directions=2)
    assert outcomes(run(curve(STREAM), both))["above-ceiling"] is Outcome.PASS


def test_sums_over_several_pairs_belong_to_no_single_link() -> None:
    many = curve({1 << 20: 3 * LIMIT}, pairs=4)
    assert outcomes(run(curve(STREAM), many))["overall"] is Outcome.PASS
    alone = planted.judge(run(many), {"1GbE": CEILING})
    verdict = planted.the(alone, "fraction", Outcome.INCONCLUSIVE)
    assert "sums 4 pairs" in verdict.summary and "--hosts" in verdict.remedy


def test_a_dip_of_means_is_named_but_warns_nobody() -> None:
    dip = curve({64: 60e-6, 128: 90e-6, 256: 60e-6}, "latency", "time")
    verdict = next(one for one in planted.judge(run(dip), {"1GbE": CEILING}) if one.rule == "dips")
    assert verdict.outcome is Outcome.SKIPPED
    assert "128 B to 256 B" in verdict.summary
    assert verdict.evidence


def test_wrong_data_that_the_suite_itself_found_fails() -> None:
    bad = curve(STREAM, failures=(Failure(8, 5, "corrupt", "DATA VALIDATION ERROR"),))
    assert outcomes(run(bad))["data"] is Outcome.FAIL


def test_a_table_s_end_names_the_line_that_looks_like_its_next_row() -> None:
    short = curve(STREAM, cut_off="ends at 64 bytes")
    torn = UnparsedLine(10, "4194304  WARN something", "a row", 2, "a.out")
    far = msgspec.structs.replace(torn, line=99)
    word = msgspec.structs.replace(torn, text="srun: error")
    for line, named in ((torn, True), (far, False), (word, False)):
        verdicts = planted.judge(run(short, unparsed=(line,)), {"1GbE": CEILING})
        (verdict,) = [one for one in verdicts if one.rule == "completeness"]
        assert verdict.outcome is Outcome.WARN
        assert (torn.text in verdict.summary) == named
    whole = run(curve(STREAM), unparsed=(torn,))
    assert outcomes(whole)["completeness"] is Outcome.PASS


@pytest.mark.parametrize(
    "more",
    [
        {"cut_off": "the last row is torn"},
        {"failures": (Failure(8, 5, "timeout", "time-out.;"),)},
    ],
)
def test_what_is_missing_from_a_log_is_a_warning(more: dict[str, Any]) -> None:
    found = outcomes(run(curve(STREAM, **more)))
    assert found["completeness"] is Outcome.WARN
    assert found["overall"] is Outcome.WARN


def test_launchers_noise_does_not_warn_but_is_counted() -> None:
    of = run(curve(STREAM), unparsed=(UnparsedLine(3, "hwloc: no", "a row", 12, "a.out"),))
    verdict = next(
        one for one in planted.judge(of, {"1GbE": CEILING}) if one.rule == "completeness"
    )
    assert verdict.outcome is Outcome.PASS
    assert "12 lines" in verdict.summary


@pytest.mark.parametrize(
    ("hosts", "nodes", "outcome"),
    [
        (("h", "h"), (), Outcome.INVALID),
        (("h", "i"), (), Outcome.PASS),
        ((), ("c1", "c2"), Outcome.PASS),
        ((), (), Outcome.SKIPPED),
        ((), ("c1", "c1"), Outcome.INVALID),
        ((), ("c1", "c1", "c2", "c2"), Outcome.WARN),
        ((), ("c1", "c2", "c2"), Outcome.WARN),
        ((), ("c1", "c2", "c3", "c4"), Outcome.PASS),
        (("h", "i"), ("c1", "c2"), Outcome.WARN),
        (("h-ib0", "i.example.org"), ("h", "i"), Outcome.PASS),
        (("10.0.0.1", "10.0.0.2"), ("h", "i"), Outcome.PASS),
    ],
)
def test_placement_is_what_the_log_or_a_person_says(
    hosts: tuple[str, ...], nodes: tuple[str, ...], outcome: Outcome
) -> None:
    of = run(curve(STREAM, hosts=hosts), nodes=nodes)
    assert outcomes(of)["placement"] is outcome


QUANTITIES = st.sampled_from(["time", "bandwidth", "message_rate", "overlap", "bus_bandwidth"])
PATTERNS = st.sampled_from(
    [None, "latency", "bandwidth", "bidirectional_bandwidth", "put_latency", "put_bandwidth"]
)
VALUES = st.floats(1e-12, 1e15)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.none() | st.integers(0, 1 << 40), VALUES, max_size=6),
            PATTERNS,
            QUANTITIES,
            st.integers(1, 2),
        ),
        max_size=4,
    ),
    st.booleans(),
)
def test_no_rule_breaks_on_any_curves(
    curves: list[tuple[dict[int | None, float], Pattern | None, Quantity, int]], stated: bool
) -> None:
    made = [curve(p, pattern, quantity, directions=n) for p, pattern, quantity, n in curves]
    verdicts = planted.judge(run(*made, network=GIGABIT if stated else None), {"1GbE": CEILING})
    assert {one.rule for one in verdicts} <= set(RULES)
    assert not [one for one in verdicts if "could not be applied" in one.summary]


def network(technology: str, rate: float = 200e9) -> Network:
    return msgspec.structs.replace(GIGABIT, technology=technology, rate_bit_s=rate)


FAST = Ceiling("1GbE", 12.42e9, 4096, 4178, 0, "line rate", ())


def test_a_mean_has_no_share_of_a_clock_s_reading_to_hide_an_excess() -> None:
    of = run(curve({65536: 1.12 * 12.42e9}), network=network("infiniband"))
    found = outcomes(of, FAST)
    assert found["above-ceiling"] is Outcome.INVALID
    assert found["fraction"] is not Outcome.PASS


@pytest.mark.parametrize(
    ("technology", "believable_s"),
    [("efa", 6.5e-6), ("slingshot", 2e-6), ("iwarp", 4.6e-6), ("infiniband", 0.94e-6)],
)
def test_each_medium_has_a_floor_of_its_own(technology: str, believable_s: float) -> None:
    sound = run(curve({8: believable_s}, "latency", "time"), network=network(technology))
    assert outcomes(sound, FAST)["floor"] is Outcome.PASS
    shared = run(curve({8: 0.49e-6}, "latency", "time"), network=network(technology))
    assert outcomes(shared, FAST)["floor"] is Outcome.INVALID


def test_the_cloud_adapter_s_half_microsecond_is_caught() -> None:
    of = run(curve({8: 0.55e-6}, "latency", "time"), network=network("efa"))
    assert outcomes(of, FAST)["floor"] is Outcome.INVALID


def test_one_log_of_rdma_lowers_no_other_log_s_floor() -> None:
    tcp = curve({8: 0.6e-6}, "latency", "time", source="a.out")
    rdma = curve({8: 1.2e-6}, "latency", "time", source="b.out", transport="rdma")
    assert outcomes(run(tcp, rdma))["floor"] is Outcome.INVALID
    assert outcomes(run(rdma))["floor"] is Outcome.PASS


@pytest.mark.parametrize("technology", ["ethernet", "ipoib"])
def test_rdma_is_not_held_against_tcp_s_ceiling(technology: str) -> None:
    on = network(technology, 1e9)
    of = run(curve({1 << 20: 1.03 * LIMIT}, transport="rdma"), network=on)
    found = outcomes(of)
    assert found["overall"] is Outcome.INCONCLUSIVE
    verdict = next(one for one in planted.judge(of, {"1GbE": CEILING}) if one.rule == "fraction")
    assert "roce" in verdict.remedy


def test_a_sum_over_pairs_above_what_all_their_links_could_carry_is_invalid() -> None:
    many = curve({1 << 20: 8 * LIMIT}, pairs=4)
    assert outcomes(run(curve(STREAM), many))["above-ceiling"] is Outcome.INVALID


def test_a_collective_is_not_quicker_than_a_message() -> None:
    quick = curve({4: 0.2e-6}, None, "time", benchmark="osu_allreduce", ranks=4)
    assert outcomes(run(curve(STREAM), quick))["floor"] is Outcome.INVALID
    alone = msgspec.structs.replace(quick, ranks=1)
    assert outcomes(run(curve(STREAM), alone))["floor"] is Outcome.SKIPPED


def one_connection(fraction: float, streams: str = "1", **more: Any) -> SuiteCurve:
    return curve(
        {None: fraction * 12.42e9}, transport="tcp", settings={"streams": streams},
        hosts=("a", "b"), **more,
    )  # fmt: skip


def test_one_connection_does_not_fail_a_fast_link_that_four_fill() -> None:
    fast = network("ethernet", 100e9)
    both = run(one_connection(0.43), one_connection(0.97, "4", source="b.out"), network=fast)
    assert outcomes(both, FAST)["overall"] is Outcome.WARN
    alone = run(one_connection(0.43), network=fast)
    assert outcomes(alone, FAST)["overall"] is Outcome.INCONCLUSIVE


def test_a_good_pair_of_hosts_excuses_no_bad_one() -> None:
    bad = one_connection(0.43, "4")
    good = msgspec.structs.replace(one_connection(0.97, "4", source="b.out"), hosts=("c", "d"))
    found = outcomes(run(bad, good, network=network("ethernet", 100e9)), FAST)
    assert found["overall"] is Outcome.FAIL


def test_many_networks_are_summed_up_in_time_that_grows_with_them() -> None:
    verdicts = planted.judge(run(*(curve(STREAM) for _ in range(300))), {"1GbE": CEILING})
    assert overall(tuple(verdicts) * 20, ("fraction",)) is Outcome.PASS


FALLING = {65536: 10.9e9, 1 << 20: 5e9, 4 << 20: 1.2e9}
QUICK = {0: 0.3e-6, 65536: 6.5e-6, 4 << 20: 4e-3}


@pytest.mark.parametrize(
    ("of", "hosts", "outcome"),
    [
        (curve(FALLING), ("c1", "c2"), Outcome.WARN),
        (curve(FALLING, hosts=("c1", "c2")), (), Outcome.WARN),
        (curve(FALLING), (), Outcome.INCONCLUSIVE),
        (curve(FALLING), ("c1",), Outcome.INVALID),
        (curve(FALLING), ("c1", "c1", "c2", "c2"), Outcome.INVALID),
        (curve(FALLING, pairs=4), (), Outcome.PASS),
        (curve(QUICK, "latency", "time"), (), Outcome.INVALID),
    ],
)
def test_a_curve_s_shape_alone_is_no_memory(
    of: SuiteCurve, hosts: tuple[str, ...], outcome: Outcome
) -> None:
    found = outcomes(run(of, network=network("infiniband"), nodes=hosts), FAST)
    assert found["cache-shape"] is outcome


LOW = {65536: 4e9, 1 << 20: 3e9, 4 << 20: 0.9e9}


@pytest.mark.parametrize(
    ("points", "hosts", "fraction", "whole"),
    [
        (LOW, (), Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE),
        (LOW, ("c1", "c2"), Outcome.FAIL, Outcome.FAIL),
        (LOW, ("c1",), Outcome.FAIL, Outcome.INVALID),
        ({65536: 3e9, 4 << 20: 4e9}, (), Outcome.FAIL, Outcome.FAIL),
    ],
)
def test_a_low_curve_of_memory_s_shape_fails_no_network_while_its_hosts_are_unknown(
    points: dict[int, float], hosts: tuple[str, ...], fraction: Outcome, whole: Outcome
) -> None:
    of = run(curve(points), network=network("infiniband"), nodes=hosts)
    verdicts = planted.judge(of, {"1GbE": FAST})
    (found,) = planted.by_rule(verdicts, "fraction")
    assert found.outcome is fraction
    assert ("--hosts" in found.remedy) is (fraction is Outcome.INCONCLUSIVE)
    assert outcomes(of, FAST)["overall"] is whole


@pytest.mark.parametrize(
    ("suite", "size", "share", "rate", "outcome"),
    [
        ("netperf", 16384, 0.98, 1e9, Outcome.PASS),
        ("netperf", 16384, 0.4, 1e9, Outcome.FAIL),
        ("netperf", 16384, 0.4, 100e9, Outcome.INCONCLUSIVE),  # one connection
        ("netperf", 8192, 0.98, 1e9, Outcome.INCONCLUSIVE),
        ("qperf", 32768, 0.98, 1e9, Outcome.PASS),
        ("osu", 16384, 0.98, 1e9, Outcome.INCONCLUSIVE),
    ],
)
def test_a_stream_of_calls_is_judged_from_netperf_s_usual_size_on(
    suite: str, size: int, share: float, rate: float, outcome: Outcome
) -> None:
    of = curve({size: share * LIMIT}, suite=suite, transport="tcp", source="a.out")
    verdicts = planted.judge(run(of, network=network("ethernet", rate)), {"1GbE": CEILING})
    (found,) = planted.by_rule(verdicts, "fraction")
    assert found.outcome is outcome
    if size < 16384:
        assert "at least 16 KiB" in found.summary


@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.98, Outcome.PASS), (0.4, Outcome.INCONCLUSIVE), (3.0, Outcome.INVALID)],
)
def test_a_stream_without_its_message_size_may_pass_but_does_not_fail(
    share: float, outcome: Outcome
) -> None:
    of = run(curve({None: share * LIMIT}, suite="qperf", benchmark="tcp_bw", transport="tcp"))
    (table,) = judgement(Context(of, {"1GbE": CEILING})).tables
    assert table.outcome is outcome
    assert ("qperf -vu" in table.remedy) is (outcome is Outcome.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("benchmark", "size", "outcome"),
    [
        ("Allgather", 0, Outcome.SKIPPED),
        ("osu_allreduce", 0, Outcome.SKIPPED),
        ("Allgather", 4, Outcome.INVALID),
        ("Barrier", None, Outcome.INVALID),
        ("Barrier", 0, Outcome.INVALID),
    ],
)
def test_a_collective_of_nothing_has_no_floor_but_a_barrier_has(
    benchmark: str, size: int | None, outcome: Outcome
) -> None:
    of = curve({size: 50e-9}, None, "time", benchmark=benchmark, ranks=2)
    assert outcomes(run(of, network=network("infiniband")), FAST)["floor"] is outcome


def test_rdma_between_stated_hosts_is_not_called_memory() -> None:
    quick = run(curve({0: 1.5e-6}, "latency", "time"), nodes=("c1", "c2"))
    verdict = next(one for one in planted.judge(quick, {"1GbE": CEILING}) if one.rule == "floor")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "roce" in verdict.remedy
    memory = run(curve({0: 0.4e-6}, "latency", "time"), nodes=("c1", "c2"))
    assert outcomes(memory)["floor"] is Outcome.INVALID


@pytest.mark.parametrize(
    ("share", "hosts", "outcome"),
    [
        (0.99, ("c1", "c2"), Outcome.PASS),
        (0.5, ("c1", "c2"), Outcome.FAIL),
        (1.5, ("c1", "c2"), Outcome.INVALID),
        (3.9, tuple(f"c{i}" for i in range(8)), Outcome.PASS),
        (3.9, (), Outcome.INCONCLUSIVE),
    ],
)
def test_pairs_between_two_hosts_share_one_link(
    share: float, hosts: tuple[str, ...], outcome: Outcome
) -> None:
    many = curve({1 << 20: share * LIMIT}, pairs=4)
    assert outcomes(run(many, nodes=hosts))["overall"] is outcome


def files(*curves: SuiteCurve, **more: Any) -> Run:
    """A file for each curve, and one that holds nothing."""
    of = run(**more)
    (launch,) = of.launches
    replaced = msgspec.structs.replace
    launches = [
        replaced(launch, number=i, curves=(replaced(one, source=f"{i}.out"),),
                 ended=Ended(IMPORTED, 0, "", (f"{i}.out",), 0.0))
        for i, one in enumerate(curves, 1)
    ]  # fmt: skip
    return replaced(of, launches=(*launches, replaced(launch, number=len(curves) + 1)))


def test_each_table_is_judged_by_itself() -> None:
    tables = {
        "good": (curve(STREAM), Outcome.PASS),
        "slow": (curve({1 << 20: 0.4 * LIMIT}), Outcome.FAIL),
        "memory": (curve({0: 0.3e-6}, "latency", "time"), Outcome.INVALID),
        "ping-pong": (curve({0: 30e-6}, "latency", "time"), Outcome.SKIPPED),
        "torn": (curve(STREAM, cut_off="torn"), Outcome.WARN),
        "collective": (curve({8: 30e-6}, None, "time", benchmark="Bcast"), Outcome.SKIPPED),
    }
    judged = judgement(Context(files(*(one for one, _ in tables.values())), {"1GbE": CEILING}))
    wanted = [*(outcome for _, outcome in tables.values()), Outcome.WARN]
    assert [one.outcome for one in judged.tables] == wanted
    assert judged.overall is Outcome.INVALID
    invalid = [one for one in judged.verdicts if one.outcome is Outcome.INVALID]
    assert [one.about.source for one in invalid] == ["3.out:1 osu_bw"]
    assert "holds nothing" in judged.tables[-1].summary


def test_a_directory_without_a_table_that_can_pass_decides_nothing() -> None:
    of = files(curve({0: 30e-6}, "latency", "time"), curve({8: 3e-5}, None, "time"))
    assert judgement(Context(of, {"1GbE": CEILING})).overall is Outcome.INCONCLUSIVE
    assert judgement(Context(files(curve(STREAM)), {"1GbE": CEILING})).overall is Outcome.WARN


@pytest.mark.parametrize(
    ("rate", "said", "outcome"),
    [
        (11.57e9, None, Outcome.INCONCLUSIVE),
        (11.57e9, 1024, Outcome.PASS),
        (11.57e9, 4096, Outcome.WARN),
        (12.2e9, None, Outcome.PASS),
        (6e9, None, Outcome.FAIL),
    ],
)
def test_an_assumed_rdma_mtu_decides_no_verdict(
    rate: float, said: int | None, outcome: Outcome
) -> None:
    by_mtu = {1024: 11.57e9, 2048: 12.02e9, 4096: 12.25e9}
    limit = Ceiling("1GbE", 12.25e9, 4096, 4178, 0, "line rate", (), by_mtu)
    of = run(
        curve({1 << 20: rate}, evidence=LogEvidence(mtu_bytes=said), transport="rdma"),
        network=network("roce-v2"),
    )
    verdict = next(one for one in planted.judge(of, {"1GbE": limit}) if one.rule == "fraction")
    assert verdict.outcome is outcome
    assert (outcome is Outcome.INCONCLUSIVE) is ("mtu=1024" in verdict.remedy)


PORT = VerbsEnd(0, "00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01")
OTHER = VerbsEnd(7, "")


@pytest.mark.parametrize(
    ("evidence", "rule", "outcome"),
    [
        (LogEvidence(verbs_ends=(PORT, PORT)), "placement", Outcome.INVALID),
        (LogEvidence(verbs_ends=(OTHER, OTHER)), "placement", Outcome.INVALID),
        (LogEvidence(verbs_ends=(PORT, OTHER)), "placement", Outcome.SKIPPED),
        (LogEvidence(addresses=("10.0.0.1", "10.0.0.1")), "placement", Outcome.INVALID),
        (LogEvidence(rank_hosts=("c1", "c1")), "placement", Outcome.INVALID),
        (LogEvidence(rank_hosts=("c1", "c2")), "placement", Outcome.PASS),
        (LogEvidence(link_type="IB"), "path", Outcome.INVALID),
        (LogEvidence(link_type="Ethernet"), "path", Outcome.SKIPPED),
        (LogEvidence(provider="psm2"), "path", Outcome.INVALID),
        (LogEvidence(provider="efa"), "path", Outcome.INVALID),
        (LogEvidence(devices=("hfi1_0",)), "path", Outcome.INVALID),
        (LogEvidence(provider="verbs;ofi_rxm", devices=("mlx5_0",)), "path", Outcome.SKIPPED),
        (LogEvidence(mtu_bytes=1024), "mtu", Outcome.WARN),
    ],
)
def test_what_a_log_says_of_itself_is_evidence(
    evidence: LogEvidence, rule: str, outcome: Outcome
) -> None:
    on = msgspec.structs.replace(network("roce-v2"), stated_mtu_bytes=4096)
    found = outcomes(run(curve({1 << 20: 12e9}, evidence=evidence), network=on), FAST)
    assert found[rule] is outcome


def test_tables_that_a_limit_left_out_decide_nothing() -> None:
    rest = UnparsedLine(9, "", f"{LIMITED} 3 tables of a file", source="a.out")
    found = outcomes(run(curve(STREAM), unparsed=(rest,)))
    assert found["completeness"] is Outcome.INCONCLUSIVE
    assert found["overall"] is Outcome.INCONCLUSIVE
