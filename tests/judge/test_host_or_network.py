"""A slow host excuses a low figure, unless the fault was seen in the network itself."""

from collections.abc import Iterable

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_fraction import Change, at, sockets, unsteady

from fabricgauge.judge.evidence.connections import lost_segments
from fabricgauge.judge.judging import overall
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict, exit_status


def with_loopback(fraction: float, loopback_bytes_per_s: float) -> Run:
    launches = list(planted.sound_launches(fraction))
    size = 1 << 20
    sample = planted.Sample("bandwidth", size, 0, planted.WINDOW * size / loopback_bytes_per_s)
    reference = planted.launch([planted.measurement(sample, split={"lo": 1.0})], 4)
    reference = msgspec.structs.replace(reference, network="loopback:c1", nodes=("c1", "c1"))
    return planted.run([*launches, reference], plan=planted.plan_of(launches))


def test_host_limited_when_the_loopback_cannot_fill_the_ceiling_either() -> None:
    given_verdicts = planted.verdicts(with_loopback(0.5, 90e6))
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE
    verdict = planted.the(given_verdicts, "host-limited", Outcome.INCONCLUSIVE)
    assert "90.00 MB/s" in verdict.evidence[0]


def test_host_limited_when_the_loopback_has_too_little_headroom() -> None:
    given_verdicts = planted.verdicts(with_loopback(0.7, 158e6))
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_host_is_not_blamed_when_the_loopback_is_fast() -> None:
    assert overall(planted.verdicts(with_loopback(0.5, 2e9))) is Outcome.FAIL


def test_host_is_not_blamed_when_the_figure_is_far_below_the_loopback() -> None:
    assert overall(planted.verdicts(with_loopback(0.0995, 90e6))) is Outcome.FAIL


def test_an_unsteady_figure_may_be_further_below_the_loopback() -> None:
    *measured, reference = with_loopback(0.30, 90e6).launches
    launches = (*planted.changed(measured, unsteady(lambda measurement: measurement)), reference)
    run = msgspec.structs.replace(with_loopback(0.30, 90e6), launches=launches)
    assert overall(planted.verdicts(run)) is Outcome.INCONCLUSIVE
    assert overall(planted.verdicts(with_loopback(0.30, 90e6))) is Outcome.FAIL


def faulty(run: Run, change: Change, bit_s: float | None = None) -> Run:
    """A fault of the network beside a slow loopback; ``bit_s`` is what c2's driver reports."""
    first, second = run.fabric.nodes
    if bit_s is not None:
        ports = tuple(msgspec.structs.replace(p, speed_bit_s=bit_s) for p in second.interfaces)
        second = msgspec.structs.replace(second, interfaces=ports)
    of = msgspec.structs.replace(run.fabric, nodes=(first, second))
    *measured, reference = run.launches
    launches = (*planted.changed(measured, change), reference)
    return msgspec.structs.replace(run, fabric=of, launches=launches)


def lossy(errors: int, lost: float) -> Change:
    """So many frames with errors in every case, and such a share of segments sent again."""

    def change(measurement: Measurement) -> Measurement:
        counters = tuple(
            msgspec.structs.replace(
                one,
                after={
                    **one.after,
                    "eth0": msgspec.structs.replace(one.after["eth0"], rx_errors=errors),
                },
            )
            for one in measurement.counters
        )
        _, segments = lost_segments(measurement)
        again = sockets(retransmitted_segments=round(lost * segments))(measurement)
        return msgspec.structs.replace(again, counters=counters)

    return change


def test_a_slow_loopback_alone_excuses_the_planted_figure() -> None:
    assert overall(planted.verdicts(faulty(with_loopback(0.5, 90e6), lossy(0, 0)))) is (
        Outcome.INCONCLUSIVE
    )


@pytest.mark.parametrize(
    ("errors", "lost", "bit_s", "word"),
    [
        (50_000, 0.0, None, "loses frames"),
        (0, 0.02, None, "loses segments"),
        (0, 0.0, 0.6e9, "runs at 600 Mb/s instead of 1 Gb/s"),
        (50_000, 0.02, 0.6e9, "runs at 600 Mb/s"),
    ],
)
def test_a_fault_seen_in_the_network_is_not_excused_by_a_slow_loopback(
    errors: int, lost: float, bit_s: float | None, word: str
) -> None:
    run = faulty(with_loopback(0.5, 90e6), lossy(errors, lost), bit_s)
    given_verdicts = planted.verdicts(run)
    assert overall(given_verdicts) is Outcome.FAIL
    assert word in planted.the(given_verdicts, "fraction", Outcome.FAIL).cause
    assert Outcome.INCONCLUSIVE not in planted.outcomes(given_verdicts, "host-limited")


@pytest.mark.parametrize(
    ("fraction", "lost", "cause"),
    [
        (0.5, 0.002, "1/2 of the rate"),
        (0.25, 0.002, "1/4 of the rate"),
        (0.5, 0.0, "1/2 of the rate"),
        (0.5, 0.02, "loses segments"),
        (0.6, 0.002, "loses segments"),
    ],
)
def test_an_even_share_of_the_rate_is_a_limit_unless_losses_were_measured(
    fraction: float, lost: float, cause: str
) -> None:
    given = planted.verdicts(faulty(with_loopback(fraction, 2e9), lossy(0, lost)))
    assert cause in planted.the(given, "fraction", Outcome.FAIL).cause


def bonded(fraction: float, ports: int, *, now: tuple[float, float] = (2e8, 2e8)) -> Run:
    """A network of 200 Mb/s per node, by so many ports of 100 Mb/s; ``now`` is each node's rate."""
    network = msgspec.structs.replace(planted.network(), rate_bit_s=2e8)
    nodes = []
    for number, rate in zip((1, 2), now, strict=True):
        node = planted.node(number)
        own, other = node.interfaces
        bond = msgspec.structs.replace(own, driver="bonding", speed_bit_s=rate)
        behind = (
            msgspec.structs.replace(
                other, name=f"port{one}", addresses=(), master="eth0", speed_bit_s=1e8
            )
            for one in range(ports)
        )
        nodes.append(msgspec.structs.replace(node, interfaces=(bond, *behind)))
    share = fraction * planted.ceiling(rate=2e8).payload_bytes_per_s / planted.CEILING_BYTES_PER_S
    return planted.run(planted.sound_launches(share), of=Fabric(tuple(nodes), (), (network,)))


def of_bond(run: Run, outcome: Outcome) -> Verdict:
    given = planted.verdicts(run, planted.ceiling(rate=2e8))
    assert overall(given) is outcome
    return planted.the(given, "fraction", outcome)


def test_one_connection_that_fills_one_port_of_a_bond_decides_nothing() -> None:
    verdict = of_bond(bonded(0.49, 2), Outcome.INCONCLUSIVE)
    assert "one connection over one port" in verdict.cause
    assert "other ports carry nothing" in verdict.cause
    assert any("eth0 is a bond of port0 and port1" in line for line in verdict.evidence)
    # So far below a port's rate it is not the bond, nor where there is none.
    of_bond(bonded(0.4, 2), Outcome.FAIL)
    for ports in (0, 1):
        assert "100 Mb/s instead of 200 Mb/s" in of_bond(bonded(0.49, ports), Outcome.FAIL).cause


def test_a_vlan_on_a_bond_is_as_the_bond() -> None:
    run = bonded(0.49, 2)
    nodes = []
    for node in run.fabric.nodes:
        bond, *ports = node.interfaces
        vlan = msgspec.structs.replace(bond, driver="vlan", parent="bond0")
        below = (msgspec.structs.replace(one, master="bond0") for one in ports)
        bond = msgspec.structs.replace(bond, name="bond0", addresses=())
        nodes.append(msgspec.structs.replace(node, interfaces=(vlan, bond, *below)))
    of = msgspec.structs.replace(run.fabric, nodes=tuple(nodes))
    of_bond(msgspec.structs.replace(run, fabric=of), Outcome.INCONCLUSIVE)


@pytest.mark.parametrize(("bonds", "outcome"), [(4, "INCONCLUSIVE"), (3, "FAIL")])
def test_a_median_over_pairs_is_that_of_one_port_where_all_nodes_have_a_bond(
    bonds: int, outcome: str
) -> None:
    run = many.run(many.launch(4, many.rounds(4, lambda one, other: 0.5 * many.sound(one, other))))
    nodes = []
    for number, node in enumerate(run.fabric.nodes):
        (own,) = node.interfaces
        port = msgspec.structs.replace(own, addresses=(), master="eth0", speed_bit_s=5e8)
        behind = (msgspec.structs.replace(port, name=name) for name in ("port0", "port1"))
        bond = msgspec.structs.replace(own, driver="bonding" if number < bonds else "mlx5_core")
        nodes.append(msgspec.structs.replace(node, interfaces=(bond, *behind)))
    of = msgspec.structs.replace(run.fabric, nodes=tuple(nodes))
    given = many.verdicts(msgspec.structs.replace(run, fabric=of))
    assert planted.outcomes(given, "fraction") == {Outcome(outcome)}


def test_a_bond_that_reports_the_rate_of_one_port_fails() -> None:
    verdict = of_bond(bonded(0.49, 2, now=(2e8, 1e8)), Outcome.FAIL)
    assert "c2:eth0 runs at 100 Mb/s instead of 200 Mb/s" in verdict.cause


def test_few_segments_sent_again_are_a_slow_host_s_own() -> None:
    few = lossy(0, 0.002)
    assert overall(planted.verdicts(faulty(with_loopback(0.5, 90e6), few))) is Outcome.INCONCLUSIVE
    assert overall(planted.verdicts(faulty(with_loopback(0.5, 2e9), few))) is Outcome.FAIL


def test_a_driver_that_the_figure_refutes_proves_nothing() -> None:
    run = faulty(with_loopback(0.5, 90e6), lossy(0, 0), 0.1e9)
    assert overall(planted.verdicts(run)) is Outcome.INCONCLUSIVE


def test_host_is_not_blamed_when_the_figure_is_four_tenths_of_the_loopback() -> None:
    assert overall(planted.verdicts(with_loopback(0.7, 206e6))) is Outcome.FAIL


def test_an_idle_connection_is_no_sign_where_data_are_checked() -> None:
    def checked(measurement: Measurement) -> Measurement:
        check = msgspec.structs.replace(measurement.data_check, requested=True)
        return msgspec.structs.replace(sockets(busy_s=0.2)(measurement), data_check=check)

    assert overall(planted.verdicts(at(0.55, checked))) is Outcome.FAIL


def waiting(fraction: float) -> Run:
    """Ranks that waited for a processor half of the time; the figure is as steady as a wire."""

    def change(measurement: Measurement) -> Measurement:
        processors = tuple(
            msgspec.structs.replace(one, run_delay_s=0.5 * measurement.wall_s)
            for one in measurement.processors
        )
        return msgspec.structs.replace(measurement, processors=processors)

    launches = planted.sound_launches(fraction)
    return planted.run(planted.changed(launches, change), plan=planted.plan_of(launches))


def test_a_steady_figure_just_below_the_ceiling_is_no_lower_link_rate() -> None:
    assert overall(planted.verdicts(waiting(0.89))) is Outcome.INCONCLUSIVE


def test_a_steady_figure_at_four_fifths_may_be_a_lower_link_rate() -> None:
    assert overall(planted.verdicts(waiting(0.8))) is Outcome.FAIL


def slower_from(message_bytes: int, factor: float) -> Change:
    def change(measurement: Measurement) -> Measurement:
        times = measurement.times
        if times is None or measurement.message_bytes < message_bytes:
            return measurement
        slower = {
            name: getattr(times, name) * factor
            for name in ("minimum_s", "median_s", "low_s", "high_s", "maximum_s")
        }
        return msgspec.structs.replace(measurement, times=msgspec.structs.replace(times, **slower))

    return change


def test_what_larger_messages_do_not_hold_is_no_wire_although_a_lower_rate_would_fit() -> None:
    """A host whose best size happens to be as fast as a link of a tenth of the rate."""
    run = with_loopback(0.0995, 14e6)
    assert overall(planted.verdicts(run)) is Outcome.FAIL
    *measured, reference = run.launches
    launches = (*planted.changed(measured, slower_from(256 * 1024, 1.3)), reference)
    falls = msgspec.structs.replace(run, launches=launches)
    verdicts = planted.verdicts(falls)
    assert Outcome.FAIL not in planted.outcomes(verdicts, "fraction")
    assert planted.the(verdicts, "host-limited", Outcome.INCONCLUSIVE)


HIDDEN = Skipped("/proc/self/task: Permission denied")


def told(of: Iterable[Launch], **use: float | Skipped) -> Run:
    """A run of these launches, the processor use of all ranks changed."""

    def change(measurement: Measurement) -> Measurement:
        processors = tuple(msgspec.structs.replace(one, **use) for one in measurement.processors)
        return msgspec.structs.replace(measurement, processors=processors)

    launches = tuple(of)
    return planted.run(planted.changed(launches, change), plan=planted.plan_of(launches))


def unsteady_launches(fraction: float) -> list[Launch]:
    return planted.changed(planted.sound_launches(fraction), unsteady(lambda one: one))


def test_the_network_does_not_fail_where_the_ranks_waiting_could_not_be_seen() -> None:
    seen = planted.verdicts(told(unsteady_launches(0.7), run_delay_s=0.0))
    assert Outcome.FAIL in planted.outcomes(seen, "fraction")
    given = planted.verdicts(told(unsteady_launches(0.7), run_delay_s=HIDDEN))
    assert Outcome.FAIL not in planted.outcomes(given, "fraction")
    verdict = planted.the(given, "fraction", Outcome.INCONCLUSIVE)
    assert "unknown if a host" in verdict.summary
    assert any(HIDDEN.reason in line for line in verdict.evidence)


def test_host_limited_does_not_pass_where_the_ranks_waiting_could_not_be_seen() -> None:
    given = planted.verdicts(told(unsteady_launches(0.7), run_delay_s=HIDDEN))
    assert Outcome.PASS not in planted.outcomes(given, "host-limited")
    assert "schedstat" in planted.the(given, "host-limited", Outcome.INCONCLUSIVE).remedy


def test_a_good_figure_passes_although_waiting_could_not_be_seen() -> None:
    given = planted.verdicts(told(planted.sound_launches(), run_delay_s=HIDDEN))
    assert planted.outcomes(given, "fraction") == {Outcome.PASS}


def test_a_wire_fails_although_waiting_could_not_be_seen() -> None:
    given = planted.verdicts(told(planted.sound_launches(0.6), run_delay_s=HIDDEN))
    assert Outcome.FAIL in planted.outcomes(given, "fraction")


def test_steal_alone_shows_a_limit_where_the_ranks_waiting_could_not_be_seen() -> None:
    of = told(planted.sound_launches(0.89), run_delay_s=HIDDEN, node_steal_share=0.5)
    verdict = planted.the(planted.verdicts(of), "host-limited", Outcome.INCONCLUSIVE)
    assert any("had to wait for a processor" in line for line in verdict.evidence)


def test_node_shares_that_could_not_be_seen_are_no_sign() -> None:
    hidden = dict.fromkeys(
        ("node_idle_share", "node_softirq_share", "node_steal_share", "busiest_softirq_share"),
        HIDDEN,
    )
    given = planted.verdicts(told(planted.sound_launches(0.6), **hidden))
    assert planted.outcomes(given, "host-limited") == {Outcome.PASS}
    assert not any("idle" in line for one in given for line in one.evidence)


@pytest.mark.parametrize(
    ("fraction", "alone", "beside_a_host"),
    [
        (0.893, Outcome.FAIL, Outcome.INCONCLUSIVE),
        (0.668, Outcome.FAIL, Outcome.INCONCLUSIVE),
        (0.92, Outcome.WARN, Outcome.WARN),
        (0.97, Outcome.PASS, Outcome.PASS),
    ],
)
def test_a_hosts_limit_turns_a_failure_into_no_decision_and_changes_nothing_else(
    fraction: float, alone: Outcome, beside_a_host: Outcome
) -> None:
    found = planted.verdicts(at(fraction, sockets(busy_s=0.49)))
    limited = planted.verdicts(at(fraction, sockets(busy_s=0.2)))
    for given, outcome in ((found, alone), (limited, beside_a_host)):
        one_way = [
            one for one in planted.by_rule(given, "fraction") if one.about.series == "bandwidth"
        ]
        assert {one.outcome for one in one_way} == {outcome}


def test_streams_in_both_directions_that_a_host_limits_stay_a_remark() -> None:
    samples = [
        planted.Sample(one.pattern, one.message_bytes, one.origin, one.median_s * 1.49)
        if one.pattern == "bidirectional_bandwidth"
        else one
        for one in planted.samples()
    ]
    launch = planted.launch([sockets(busy_s=0.2)(planted.measurement(one)) for one in samples])
    given = planted.verdicts(planted.run([launch]))
    (verdict,) = [
        one
        for one in planted.by_rule(given, "fraction")
        if one.about.series == "bidirectional_bandwidth"
    ]
    assert verdict.outcome is Outcome.WARN
    assert "66." in verdict.summary
    assert "(see host-limited)" in verdict.summary
    assert exit_status(overall(given)) == 0
