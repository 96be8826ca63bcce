"""MTU, links, errors, missing cases, directions, unsteadiness and dips."""

from collections.abc import Iterable

import msgspec
from tests.judge import planted, planted_fabric

from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import doubtful, overall
from fabricgauge.judge.localise.detect import localise
from fabricgauge.model.fabric import Fabric, Network, Node, Shaper, Topology
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict


def with_network(network: Network) -> Fabric:
    return msgspec.structs.replace(planted.fabric(), networks=(network,))


def with_mtus(*mtus: int) -> Fabric:
    members = tuple(
        msgspec.structs.replace(member, mtu_bytes=mtu)
        for member, mtu in zip(planted.network().members, mtus, strict=True)
    )
    return with_network(msgspec.structs.replace(planted.network(), members=members))


def samples_run(*samples: planted.Sample, launches: int = 1) -> Run:
    return planted.run(
        planted.launch(map(planted.measurement, samples), number)
        for number in range(1, launches + 1)
    )


def test_mtu_fails_when_one_end_is_smaller_and_gives_the_command() -> None:
    given = planted.verdicts(planted.run(of=with_mtus(9000, 1500)))
    verdict = planted.the(given, "mtu", Outcome.FAIL)
    assert "c2:eth0 (1500)" in verdict.summary
    assert verdict.remedy == "on c2: ip link set dev eth0 mtu 9000"
    assert overall(given) is Outcome.FAIL


def mixed(*mtus: int, shares: planted_fabric.Pairs) -> tuple[Verdict, ...]:
    """A node for each MTU. Shares are of the ceiling for an MTU of 1500."""
    count = len(mtus)
    run = planted_fabric.run(planted_fabric.launch(count, planted_fabric.rounds(count, shares)))
    (network,) = run.fabric.networks
    members = tuple(
        msgspec.structs.replace(one, mtu_bytes=mtu)
        for one, mtu in zip(network.members, mtus, strict=True)
    )
    network = msgspec.structs.replace(network, members=members)
    run = msgspec.structs.replace(
        run, fabric=msgspec.structs.replace(run.fabric, networks=(network,))
    )
    found = localise(run.launches, Topology())
    return planted.judge(run, ceilings((network,)), fabric=found)


def test_one_small_mtu_among_large_ones_fails_and_nothing_is_above_the_ceiling() -> None:
    def shares(one: int, other: int) -> float:
        return planted_fabric.sound(one, other) * (1.0 if 7 in (one, other) else 1.05)

    given = mixed(*(9000,) * 7, 1500, shares=shares)
    verdict = planted.the(given, "mtu", Outcome.FAIL)
    assert verdict.remedy == "on c8: ip link set dev eth0 mtu 9000"
    assert overall(given) is Outcome.FAIL
    for rule in ("above-ceiling", "fraction", "pairs"):
        assert planted.outcomes(given, rule) == {Outcome.PASS}
    more = mixed(*(9000,) * 7, 1500, shares=lambda one, other: 1.02 * shares(one, other))
    assert planted.outcomes(more, "above-ceiling") == {Outcome.INVALID}


def test_what_pairs_of_another_mtu_would_reach_decides_nothing() -> None:
    given = mixed(9000, 9000, 1500, 1500, 1500, shares=lambda _one, _other: 0.99)
    verdict = planted.the(given, "fraction", Outcome.INCONCLUSIVE)
    assert verdict.cause.startswith("the members' MTUs differ")
    assert any(line.startswith("with an MTU of 1500 it is 99.0 %") for line in verdict.evidence)
    assert overall(given) is Outcome.FAIL


def test_mtu_remedy_quotes_a_name_that_a_shell_would_read() -> None:
    network = planted.network()
    hostile = msgspec.structs.replace(network.members[1], interface="x;reboot", mtu_bytes=1400)
    members = (network.members[0], hostile)
    of = with_network(msgspec.structs.replace(network, members=members))
    verdict = planted.the(planted.verdicts(planted.run(of=of)), "mtu", Outcome.FAIL)
    assert "dev 'x;reboot' mtu" in verdict.remedy


def test_mtu_warns_when_tcp_sends_smaller_segments_than_the_mtu_allows() -> None:
    verdict = planted.the(
        planted.verdicts(planted.run(of=with_mtus(9000, 9000))), "mtu", Outcome.WARN
    )
    assert "1448 bytes" in verdict.summary
    assert "8948" in verdict.summary


def test_link_fails_when_a_member_has_no_carrier() -> None:
    bare = planted.fabric()
    first, second = bare.nodes
    dead = tuple(msgspec.structs.replace(one, carrier=False) for one in second.interfaces)
    nodes = (first, msgspec.structs.replace(second, interfaces=dead))
    run = planted.run(of=msgspec.structs.replace(bare, nodes=nodes))
    verdict = planted.the(planted.verdicts(run), "link", Outcome.FAIL)
    assert "c2:eth0" in verdict.summary


def test_completeness_does_not_say_that_cases_were_measured_which_were_left_out() -> None:
    first, *others = planted.sound_launches()
    left = msgspec.structs.replace(
        first.measurements[0], status="skipped", reason="frames are lost"
    )
    cut = msgspec.structs.replace(first, measurements=(left, *first.measurements[1:]))
    verdict = planted.the(
        planted.verdicts(planted.run((cut, *others))), "completeness", Outcome.PASS
    )
    assert verdict.summary.startswith("1 of ")
    assert "skipped: frames are lost" in verdict.summary


def test_completeness_warns_of_a_launch_that_measured_all_and_ended_badly() -> None:
    def outcome_of(*ends: str) -> tuple[Outcome, str]:
        first, *others = planted.sound_launches()
        attempts = [
            msgspec.structs.replace(
                first, ended=msgspec.structs.replace(first.ended, status=status, exit_code=124)
            )
            for status in ends
        ]
        plan = planted.plan_of((first, *others))
        given = planted.verdicts(planted.run((*attempts, *others), plan=plan))
        (verdict,) = planted.by_rule(given, "completeness")
        return verdict.outcome, verdict.cause

    for status in ("timeout", "broken", "silent", "unstored"):
        outcome, cause = outcome_of(status)
        assert outcome is Outcome.WARN
        assert cause.startswith(f"launch 1 ended with {status} (exit status 124)")
    for ends in (("ok",), ("interrupted",), ("timeout", "ok")):
        assert outcome_of(*ends) == (Outcome.PASS, "")


def test_completeness_says_that_records_are_gone_where_all_launches_ended_well() -> None:
    whole = planted.sound_launches()
    torn = msgspec.structs.replace(whole[-1], measurements=whole[-1].measurements[:3])
    run = planted.run([*whole[:-1], torn], plan=planted.plan_of(whole))
    verdict = planted.the(planted.verdicts(run), "completeness", Outcome.INCONCLUSIVE)
    assert verdict.cause == "the stored records are not whole"
    assert verdict.remedy.startswith("measure the rest: ")


def test_completeness_quotes_why_the_launch_ended() -> None:
    whole = planted.sound_launches()
    cut = msgspec.structs.replace(
        whole[-1],
        measurements=whole[-1].measurements[:3],
        ended=msgspec.structs.replace(
            whole[-1].ended, status="lost", message="c2:eth0 lost its link"
        ),
    )
    run = planted.run([*whole[:-1], cut], plan=planted.plan_of(whole))
    given = planted.verdicts(run)
    verdict = planted.the(given, "completeness", Outcome.INCONCLUSIVE)
    assert "c2:eth0 lost its link" in verdict.summary
    assert "launch 3" in verdict.summary
    assert verdict.remedy.endswith("fabricgauge check --resume r1")
    assert overall(given) is Outcome.INCONCLUSIVE
    for status, begins in (("interrupted", "measure the rest"), ("unstored", "fix the launch"),
                           ("broken", "look for the cause with")):  # fmt: skip
        ended = msgspec.structs.replace(cut.ended, status=status)
        broken_off = msgspec.structs.replace(cut, ended=ended)
        again = planted.run([*whole[:-1], broken_off], plan=planted.plan_of(whole))
        told = planted.the(planted.verdicts(again), "completeness", Outcome.INCONCLUSIVE)
        assert told.remedy.startswith(begins)
    submitted = msgspec.structs.replace(run, command=("fabricgauge", "submit", "-N", "2"))
    remedy = planted.the(planted.verdicts(submitted), "completeness", Outcome.INCONCLUSIVE).remedy
    assert remedy.endswith("fabricgauge submit --resume r1")


def rising(of: Iterable[Launch], interface: str, **rise: int) -> list[Launch]:
    """In each case these counters of c2 rise so much."""

    def rose(measurement: Measurement) -> Measurement:
        first, second = measurement.counters
        worse = msgspec.structs.replace(second.after.get(interface, planted.NO_TRAFFIC), **rise)
        second = msgspec.structs.replace(
            second, before={**second.before, interface: planted.NO_TRAFFIC},
            after={**second.after, interface: worse},
        )  # fmt: skip
        return msgspec.structs.replace(measurement, counters=(first, second))

    return planted.changed(of, rose)


def test_errors_warn_and_name_node_and_interface() -> None:
    run = planted.run(rising(planted.sound_launches(), "eth0", rx_errors=2))
    verdict = planted.the(planted.verdicts(run), "errors", Outcome.WARN)
    assert "c2:eth0" in verdict.summary
    assert "c1" not in verdict.summary


def timed(of: Iterable[Launch], seconds: float) -> list[Launch]:
    """Counters were read so long apart in each case."""

    def apart(measurement: Measurement) -> Measurement:
        each = (
            msgspec.structs.replace(one, read_utc_s=(0.0, seconds)) for one in measurement.counters
        )
        return msgspec.structs.replace(measurement, counters=tuple(each))

    return planted.changed(of, apart)


def test_frames_that_every_port_drops_are_no_trouble_and_no_cause() -> None:
    few = timed(rising(planted.sound_launches(0.5), "eth0", rx_dropped=1), 2.0)
    given = planted.verdicts(planted.run(few))
    verdict = planted.the(given, "errors", Outcome.PASS)
    assert verdict.summary == "no error or drop counter rose more than on a quiet port"
    assert "rx_dropped of c2:eth0 rose by" in verdict.evidence[0]
    assert "loses frames" not in planted.the(given, "fraction", Outcome.FAIL).cause
    many = timed(rising(planted.sound_launches(0.5), "eth0", rx_dropped=200), 2.0)
    given = planted.verdicts(planted.run(many))
    threshold = planted.the(given, "errors", Outcome.WARN).threshold
    assert threshold is not None
    assert threshold.value == 2 * sum(len(one.measurements) for one in many)
    assert "c2:eth0 drops frames" in planted.the(given, "fraction", Outcome.FAIL).cause
    errors = timed(rising(planted.sound_launches(), "eth0", rx_errors=1), 100.0)
    assert planted.outcomes(planted.verdicts(planted.run(errors)), "errors") == {Outcome.WARN}


def on_a_vlan(shaper: Shaper | None = None) -> Fabric:
    """net1 is on a VLAN of each node's ``port``, whose way out c2 may shape."""
    bare = planted.fabric()

    def node(of: Node) -> Node:
        vlan, other = of.interfaces
        shaped = shaper if shaper and of.name == "c2" else vlan.shaper
        port = msgspec.structs.replace(vlan, name="port", addresses=(), shaper=shaped)
        over = msgspec.structs.replace(vlan, driver="802.1Q VLAN Support", parent="port")
        return msgspec.structs.replace(of, interfaces=(over, port, other))

    return msgspec.structs.replace(bare, nodes=tuple(map(node, bare.nodes)))


def test_errors_of_the_port_below_a_vlan_warn_and_are_the_cause_of_a_low_figure() -> None:
    low = rising(planted.sound_launches(0.5), "port", rx_errors=50_000)
    given = planted.verdicts(planted.run(low, of=on_a_vlan()))
    assert "c2:port" in planted.the(given, "errors", Outcome.WARN).summary
    assert "c2:port loses frames" in planted.the(given, "fraction", Outcome.FAIL).cause
    elsewhere = rising(planted.sound_launches(), "eth1", rx_errors=50_000)
    given = planted.verdicts(planted.run(elsewhere, of=on_a_vlan()))
    assert planted.outcomes(given, "errors") == {Outcome.PASS}


def test_a_token_bucket_on_the_port_below_a_vlan_is_the_cause_of_a_low_figure() -> None:
    run = planted.run(planted.sound_launches(0.5), of=on_a_vlan(Shaper(0.5e9, 32768)))
    failed = [
        one
        for one in planted.by_rule(planted.verdicts(run), "fraction")
        if one.outcome is Outcome.FAIL
    ]
    # It holds what c2 sends, and nothing that c2 receives.
    assert {one.about.names for one in failed} >= {("c1", "c2"), ("c2", "c1")}
    for one in failed:
        sent = one.about.names[0] == "c2"
        assert ("a token bucket on c2:port" in one.cause) is sent, one.about


def slow_reverse(fraction: float) -> Run:
    samples = [
        msgspec.structs.replace(one, median_s=one.median_s / fraction) if one.origin else one
        for one in planted.samples()
    ]
    return samples_run(*samples)


def test_asymmetry_warns_a_little_and_fails_a_lot_naming_the_slower_direction() -> None:
    little = planted.the(planted.verdicts(slow_reverse(0.93)), "asymmetry", Outcome.WARN)
    assert little.summary.startswith("c2 → c1 is")
    much = planted.the(planted.verdicts(slow_reverse(0.5)), "asymmetry", Outcome.FAIL)
    assert "50.0 % slower" in much.summary


def _measured_again(first: Run, second: Run) -> Run:
    again = msgspec.structs.replace(second.launches[0], purpose="again", number=2)
    return msgspec.structs.replace(first, launches=(*first.launches, again))


def test_asymmetry_that_does_not_come_back_counts_for_nothing() -> None:
    gone = planted.verdicts(_measured_again(slow_reverse(0.5), slow_reverse(0.98)))
    verdict = planted.the(gone, "asymmetry", Outcome.PASS)
    assert verdict.evidence[0].startswith("once: c2 → c1 is 50.0 % slower")
    stays = planted.verdicts(_measured_again(slow_reverse(0.5), slow_reverse(0.5)))
    planted.the(stays, "asymmetry", Outcome.FAIL)


def test_both_directions_are_measured_again_where_one_is_slower() -> None:
    run = slow_reverse(0.9)
    (launch,) = doubtful(Context(run, {"net1": planted.ceiling()}))
    streams = [case for case in launch.cases if case.message_bytes >= 65536]
    assert {case.origin for case in streams} == {0, 1}
    assert launch.purpose == "again"
    even = slow_reverse(0.98)
    assert doubtful(Context(even, {"net1": planted.ceiling()})) == ()


def test_asymmetry_passes_within_the_intervals() -> None:
    assert planted.outcomes(planted.verdicts(slow_reverse(0.98)), "asymmetry") == {Outcome.PASS}


def test_stability_is_inconclusive_when_a_deciding_interval_is_wide() -> None:
    wide = [msgspec.structs.replace(one, width=0.2) for one in planted.samples(0.995)]
    given = planted.verdicts(samples_run(*wide))
    assert planted.outcomes(given, "stability") == {Outcome.INCONCLUSIVE}


def test_a_put_stream_that_decides_nothing_warns_when_its_interval_is_wide() -> None:
    """Plain streams fill the link both ways: how steady puts are says nothing more of it."""
    puts = [
        msgspec.structs.replace(one, width=0.2) if one.pattern == "put_bandwidth" else one
        for one in planted.samples(0.995)
    ]
    assert any(one.width == 0.2 for one in puts)
    given = planted.verdicts(samples_run(*puts))
    assert planted.outcomes(given, "stability") == {Outcome.WARN}
    slow = [msgspec.structs.replace(one, median_s=2 * one.median_s) if one.pattern == "bandwidth"
            else one for one in puts]  # fmt: skip
    assert planted.outcomes(planted.verdicts(samples_run(*slow)), "stability") == {
        Outcome.INCONCLUSIVE
    }


def test_stability_warns_when_launches_differ() -> None:
    slow = planted.launch(map(planted.measurement, planted.samples(0.9)), 4)
    run = planted.run([*planted.sound_launches(), slow])
    verdict = planted.the(planted.verdicts(run), "stability", Outcome.WARN)
    assert "launches differ" in verdict.summary


def test_stability_warns_when_the_tail_is_far_from_the_median() -> None:
    tail = [msgspec.structs.replace(one, p99=40.0) for one in planted.samples()]
    verdict = planted.the(planted.verdicts(samples_run(*tail)), "stability", Outcome.WARN)
    assert "99th percentile is 40.0 times" in verdict.summary


def test_dips_warn_when_a_larger_message_takes_less_time() -> None:
    run = samples_run(
        planted.Sample("latency", 128, 0, 88.67e-6), planted.Sample("latency", 256, 0, 63.22e-6)
    )
    verdict = planted.the(planted.verdicts(run), "dips", Outcome.WARN)
    assert "from 128 B to 256 B" in verdict.summary


def test_dips_warn_when_bandwidth_falls_and_name_the_sizes() -> None:
    samples = [
        planted.Sample("bandwidth", size, 0, planted.WINDOW * size / rate)
        for size, rate in ((16384, 100e6), (65536, 80e6), (262144, 117e6))
    ]
    verdict = planted.the(planted.verdicts(samples_run(*samples)), "dips", Outcome.WARN)
    assert "from 16 KiB to 64 KiB" in verdict.summary


def _dip_and_second_look(second_s: float) -> Run:
    """A dip from 128 B to 256 B, and the second time that 128 B take when measured again."""
    first = samples_run(
        planted.Sample("latency", 64, 0, 60e-6), planted.Sample("latency", 128, 0, 88.67e-6),
        planted.Sample("latency", 256, 0, 63.22e-6),
    )  # fmt: skip
    second = planted.launch([
        planted.measurement(planted.Sample("latency", 128, 0, second_s)),
        planted.measurement(planted.Sample("latency", 256, 0, 63.22e-6)),
    ], 2)  # fmt: skip
    again = msgspec.structs.replace(second, purpose="again")
    return msgspec.structs.replace(first, launches=(*first.launches, again))


def test_a_dip_counts_only_if_a_second_measurement_shows_it() -> None:
    gone = planted.the(planted.verdicts(_dip_and_second_look(61e-6)), "dips", Outcome.PASS)
    assert "1 dip did not come back" in gone.summary
    assert "from 128 B to 256 B" in gone.evidence[0]
    stays = planted.verdicts(_dip_and_second_look(88e-6))
    assert "from 128 B to 256 B" in planted.the(stays, "dips", Outcome.WARN).summary


def test_only_the_sizes_around_a_dip_are_measured_again_and_only_once() -> None:
    run = _dip_and_second_look(88e-6)
    first = msgspec.structs.replace(run, launches=run.launches[:1])
    (launch,) = doubtful(Context(first, {"net1": planted.ceiling()}))
    assert [case.message_bytes for case in launch.cases] == [128, 256]
    assert (launch.purpose, launch.number) == ("again", 2)
    assert doubtful(Context(run, {"net1": planted.ceiling()})) == ()


def test_where_all_pairs_are_compared_no_dip_is_measured_again() -> None:
    run = _dip_and_second_look(88e-6)
    first = msgspec.structs.replace(run, launches=run.launches[:1])
    many = planted_fabric.run(planted_fabric.launch(4, planted_fabric.rounds(4)))
    compared = localise(many.launches, Topology())
    assert doubtful(Context(first, {"net1": planted.ceiling()}, fabric=compared)) == ()


def test_dips_of_ten_percent_count_for_large_messages_only() -> None:
    def dip(size: int) -> Run:
        rates = {size: 100e6, 2 * size: 90e6}
        return samples_run(
            *(
                planted.Sample("bandwidth", each, 0, planted.WINDOW * each / rate)
                for each, rate in rates.items()
            )
        )

    assert planted.outcomes(planted.verdicts(dip(1 << 18)), "dips") == {Outcome.WARN}
    assert planted.outcomes(planted.verdicts(dip(1 << 11)), "dips") == {Outcome.PASS}


def test_dips_do_not_count_a_burst_above_the_ceiling_as_a_level() -> None:
    samples = [
        planted.Sample("bandwidth", size, 0, planted.WINDOW * size / rate)
        for size, rate in ((512, 230e6), (1024, 117e6), (4096, 117e6))
    ]
    given = planted.verdicts(samples_run(*samples), planted.ceiling(burst_bytes=32768))
    assert planted.outcomes(given, "dips") == {Outcome.PASS}


def test_link_warns_when_one_port_fell_back_to_a_lower_rate() -> None:
    bare = planted.fabric()
    first, second = (
        msgspec.structs.replace(
            node,
            interfaces=tuple(
                msgspec.structs.replace(one, speed_bit_s=rate) for one in node.interfaces
            ),
        )
        for node, rate in zip(bare.nodes, (1e9, 1e8), strict=True)
    )
    of = msgspec.structs.replace(bare, nodes=(first, second))
    verdict = planted.the(planted.verdicts(planted.run(of=of)), "link", Outcome.WARN)
    assert "c2:eth0" in verdict.summary
    assert "c1:eth0" not in verdict.summary


def test_link_fails_when_it_was_lost_in_mid_run_and_warns_once_the_rest_is_measured() -> None:
    whole = planted.sound_launches()[0]
    lost = msgspec.structs.replace(
        whole,
        measurements=whole.measurements[:2],
        ended=msgspec.structs.replace(
            whole.ended, status="timeout", changes=("c2:eth0 (net1) has lost its carrier",)
        ),
    )
    plan = planted.plan_of((whole,))
    broken = msgspec.structs.replace(planted.run((lost,)), plan=plan)
    verdict = planted.the(planted.verdicts(broken), "link", Outcome.FAIL)
    assert "c2:eth0" in verdict.summary
    resumed = msgspec.structs.replace(planted.run((lost, whole)), plan=plan)
    planted.the(planted.verdicts(resumed), "link", Outcome.WARN)
