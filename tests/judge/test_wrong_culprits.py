"""Faults of which an obvious part is innocent: who and what is named, and what is not."""

from collections.abc import Callable

import msgspec
import pytest
from tests import rdma_nodes as nodes
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_outliers import everybody
from tests.judge.test_rdma_networks import checked, judged, ports
from tests.nodes.discover.test_ports import alike, fabric
from tests.rdma_nodes import Card

from fabricgauge.judge.judging import overall
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Group, Node, Shaper, Topology
from fabricgauge.model.measurement import LinkReading, Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

BEYOND, LINK = "a rate limit, or a link between switches", "a link between the nodes runs at"


def low_stream(cards: tuple[Card, ...], network: str, share: float) -> Verdict:
    """The verdict on a stream at a share of the network's ceiling, with MPI on its ports."""
    of = alike(cards)
    limit = {"roce": 7580.8e6, "efa-rail1": 12.5e9}.get(network, 49684.6e6)
    rails = 2 if network == "infiniband" else 1
    run = checked(of, network, 2e-6, share * limit * rails, ports(of, network))
    return planted.the(judged(run).verdicts, "fraction", Outcome.FAIL)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_figure_below_a_slot_is_no_rate_of_a_link(share: float) -> None:
    # PCIe 3.0 x8 bounds 100 Gb/s: half of it is 30 Gb/s, and no link has that rate.
    assert "Gb/s instead of" not in low_stream(nodes.ROCE, "roce", share).cause


def test_a_link_below_the_slot_is_named_by_what_it_carries() -> None:
    assert "25 Gb/s instead of 100" in low_stream(nodes.ROCE, "roce", 2.9e9 / 7.5808e9).cause


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_clouds_adapter_has_no_cable_and_negotiates_nothing(share: float) -> None:
    verdict = low_stream(nodes.EFA, "efa-rail1", share)
    assert "instead of" not in verdict.cause
    assert not {"ibstat", "cable"} & {*verdict.remedy.split()}


@pytest.mark.parametrize(
    ("network", "share", "far"),
    [
        ("infiniband", 0.5, False),
        ("infiniband-rail2", 0.5, True),
        ("infiniband-rail2", 0.25, False),
    ],
)
def test_a_far_adapter_is_a_cause_without_a_near_one_and_of_what_it_costs(
    network: str, share: float, far: bool
) -> None:
    assert ("NUMA node" in low_stream(nodes.NDR, network, share).cause) is far


def rails_of(share: float, *parts: float) -> Verdict:
    """The verdict on two rails of NDR; the parts of the octets that each one sent."""
    of = alike(nodes.NDR)
    split = dict(zip(ports(of, "infiniband"), parts, strict=True))
    run = checked(of, "infiniband", 2e-6, share * 99369.2e6, split)
    return planted.the(judged(run).verdicts, "fraction", Outcome.FAIL)


@pytest.mark.parametrize(
    ("share", "parts", "words"),
    [
        (0.5, (1.0, 0.0), "mlx5_1:1 of c1 carried almost nothing"),
        (0.75, (0.667, 0.333), "c1:mlx5_1:1 carried less than the other rail"),
        (0.75, (0.5, 0.5), "a part between the two nodes"),
    ],
)
def test_a_rail_that_carried_less_is_named_by_its_counters(
    share: float, parts: tuple[float, float], words: str
) -> None:
    assert words in rails_of(share, *parts).cause


@pytest.mark.parametrize(
    ("gt_s", "lanes", "gb_s", "named"),
    [
        ("16.0", 8, 13.9, True),
        ("8.0", 16, 13.9, True),
        ("16.0", 4, 6.9, True),
        ("16.0", 8, 6.0, False),
        ("16.0", 16, 13.9, False),
    ],
)
def test_a_slot_that_carries_less_than_the_link_is_named_instead_of_the_cable(
    gt_s: str, lanes: int, gb_s: float, named: bool
) -> None:
    narrow = tuple(card._replace(gt_s=gt_s, lanes=lanes) for card in nodes.HDR)
    of = fabric(nodes.HDR, narrow)
    run = checked(of, "infiniband", 1.6e-6, gb_s * 1e9, ports(of, "infiniband"))
    verdict = planted.the(judged(run).verdicts, "fraction", Outcome.FAIL)
    slot = f"the slot of c2:mlx5_0:1 runs at {float(gt_s):g} GT/s x{lanes}"
    assert verdict.cause.startswith(slot) is named
    assert ("lspci" in verdict.remedy and "cable" not in verdict.remedy) is named


@pytest.mark.parametrize(
    ("rate", "bit_s", "outcome"),
    [("50 Gb/sec (1X HDR)", 50e9, Outcome.WARN), ("100 Gb/sec (2X HDR)", 100e9, Outcome.PASS)],
)
def test_ports_that_all_trained_down_to_one_lane_do_not_pass(
    rate: str, bit_s: float, outcome: Outcome
) -> None:
    of = alike(tuple(card._replace(rate=rate) for card in nodes.HDR))
    run = checked(of, "infiniband", 1.6e-6, 0.98 * bit_s / 8, ports(of, "infiniband"))
    assert planted.outcomes(judged(run).verdicts, "link") == {outcome}


@pytest.mark.parametrize(
    ("counter", "words"),
    [
        ("symbol_error", "loses frames"),
        ("out_of_sequence", "packets are lost on the path"),
        ("np_cnp_sent", "a queue on the path fills"),
        ("rx_prio3_pause", "a receiver cannot keep up"),
    ],
)
def test_a_counter_is_named_by_what_it_counts(counter: str, words: str) -> None:
    of = alike(nodes.ROCE)
    run = checked(of, "roce", 2e-6, 0.6 * 7580.8e6, ports(of, "roce"))

    def counted(case: Measurement) -> Measurement:
        first, second = case.counters
        second = msgspec.structs.replace(second, ports={"mlx5_0:1": {counter: 10**6}})
        return msgspec.structs.replace(case, counters=(first, second))

    launches = tuple(planted.changed(run.launches, counted))
    verdicts = judged(msgspec.structs.replace(run, launches=launches)).verdicts
    verdict = planted.the(verdicts, "fraction", Outcome.FAIL)
    assert verdict.cause.startswith("c2:mlx5_0:1")
    assert words in verdict.cause
    assert ("cable" in verdict.remedy) is (counter == "symbol_error")
    errors = planted.the(verdicts, "errors", Outcome.WARN)
    assert "ethtool" not in errors.remedy


def test_a_latency_that_no_network_has_is_no_shared_memory_on_machines_apart() -> None:
    of = alike(nodes.HDR)
    run = checked(of, "infiniband", 0.3e-6, 24.4e9, ports(of, "infiniband"))
    verdict = planted.the(judged(run).verdicts, "floor", Outcome.INVALID)
    assert "none shared memory" in verdict.cause


def with_speeds(*speeds: float | Skipped) -> Fabric:
    of = planted.fabric()
    changed = tuple(
        msgspec.structs.replace(
            node,
            interfaces=tuple(
                msgspec.structs.replace(one, speed_bit_s=speed) for one in node.interfaces
            ),
        )
        for node, speed in zip(of.nodes, speeds, strict=True)
    )
    return msgspec.structs.replace(of, nodes=changed)


@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ((1e9, 1e9), BEYOND),
        ((1e9, Skipped("virtual")), LINK),
        ((1e9, 1e8), "c2:eth0 runs at 100 Mb/s"),
    ],
)
def test_a_cable_whose_ends_report_the_full_rate_is_not_blamed(
    speeds: tuple[float | Skipped, ...], words: str
) -> None:
    run = planted.run(planted.sound_launches(0.0995), of=with_speeds(*speeds))
    verdict = planted.the(planted.verdicts(run), "fraction", Outcome.FAIL)
    assert verdict.cause.startswith(words)
    assert ("cable" in verdict.remedy) is (words != BEYOND)


def with_speed_in_cases(launch: Launch, place: int, speed: float) -> Launch:
    """The launch; a node's port reports this rate in each case, and the others their own."""

    def reading(case: Measurement) -> Measurement:
        counters = tuple(
            msgspec.structs.replace(
                one,
                after={
                    name: msgspec.structs.replace(
                        port,
                        link=LinkReading("up", speed if rank == place else 1e9, {}),
                    )
                    for name, port in one.after.items()
                },
            )
            for rank, one in enumerate(case.counters)
        )
        return msgspec.structs.replace(case, counters=counters)

    (changed,) = planted.changed([launch], reading)
    return changed


@pytest.mark.parametrize(
    ("fraction", "speeds", "words"),
    [
        (0.0995, (1e9, 1e9), "c2:eth0 runs at 100 Mb/s instead of 1 Gb/s"),
        (0.0995, (Skipped("virtual"), Skipped("virtual")), LINK),
        (0.995, (1e9, 1e9), ""),
    ],
)
def test_a_port_that_fell_back_during_the_measurement_is_named(
    fraction: float, speeds: tuple[float | Skipped, ...], words: str
) -> None:
    """A driver without a physical rate reports any rate to the engine."""
    launches = [with_speed_in_cases(one, 1, 1e8) for one in planted.sound_launches(fraction)]
    verdicts = planted.verdicts(planted.run(launches, of=with_speeds(*speeds)))
    low = [one.cause for one in planted.by_rule(verdicts, "fraction") if one.cause]
    assert all(cause.startswith(words) for cause in low)
    assert bool(low) is bool(words)


def received_by(interface: str, share: float) -> Run:
    """A sound run; c2 receives this share of the octets by that interface, the rest by eth0."""

    def moved(case: Measurement) -> Measurement:
        payloads = case.payload_sent_bytes[::-1]
        counters = []
        for rank, one in enumerate(case.counters):
            octets = int(1.05 * payloads[rank])
            other = int(octets * share) if rank == 1 else 0
            came = {"eth0": octets - other, interface: other} if other else {"eth0": octets}
            after = {
                name: msgspec.structs.replace(port, rx_bytes=came.get(name, 0))
                for name, port in one.after.items()
            }
            counters.append(msgspec.structs.replace(one, after=after))
        return msgspec.structs.replace(case, counters=tuple(counters))

    return planted.run(planted.changed(planted.sound_launches(), moved))


@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.0, Outcome.PASS), (0.02, Outcome.PASS), (1.0, Outcome.INVALID)],
)
def test_bytes_that_another_interface_received_are_no_proof(share: float, outcome: Outcome) -> None:
    (verdict,) = planted.by_rule(planted.verdicts(received_by("eth1", share)), "path")
    assert verdict.outcome is outcome
    assert ("c2 received crossed eth1, not eth0" in verdict.summary) is (share == 1.0)


def test_counters_that_count_nothing_received_accuse_nobody() -> None:
    assert planted.outcomes(planted.verdicts(planted.run()), "path") == {Outcome.PASS}


@pytest.mark.parametrize(("times", "suspected"), [(6.0, True), (1.9, False)])
def test_a_late_node_of_three_is_suspected_after_a_single_pass(
    times: float, suspected: bool
) -> None:
    def latency(one: int, two: int) -> float:
        return many.even(one, two) * (times if 2 in (one, two) else 1.0)

    found = many.verdicts(many.run(many.launch(3, many.rounds(3, latencies=latency))))
    (verdict,) = planted.by_rule(found, "outliers")
    assert verdict.outcome is (Outcome.WARN if suspected else Outcome.PASS)
    assert ("c3" in verdict.summary) is suspected


def without(launch: Launch, lost: Callable[[int, int], bool]) -> Launch:
    """The launch without a figure of these pairs of ranks, in all its rounds."""
    fields = ("origins", "targets", "samples", "minimum_ps", "median_ps", "quartile_ps")
    kept = [
        msgspec.structs.replace(
            turn,
            **{
                field: tuple(
                    value
                    for value, *ends in zip(
                        getattr(turn, field), turn.origins, turn.targets, strict=True
                    )
                    if not lost(*ends)
                )
                for field in fields
            },
        )
        for turn in launch.rounds
    ]
    return msgspec.structs.replace(launch, rounds=tuple(kept))


@pytest.mark.parametrize(
    ("lost", "outcome"),
    [
        (lambda one, two: False, Outcome.PASS),
        (lambda one, two: {one, two} == {1, 4}, Outcome.WARN),
        (lambda one, two: 2 in (one, two), Outcome.INCONCLUSIVE),
        (lambda one, two: (one + two) % 2 == 1, Outcome.INCONCLUSIVE),
    ],
)
def test_planned_pairs_without_a_figure_do_not_pass(
    lost: Callable[[int, int], bool], outcome: Outcome
) -> None:
    launch = many.launch(8, many.rounds(8))
    run = msgspec.structs.replace(many.run(without(launch, lost)), plan=planted.plan_of([launch]))
    found = many.verdicts(run)
    (verdict,) = planted.by_rule(found, "completeness")
    assert verdict.outcome is outcome
    assert overall(found) is outcome
    assert ("none of c3" in verdict.summary) is (lost(2, 4) and lost(2, 5))


def test_latencies_of_empty_messages_leave_every_rule_able_to_judge() -> None:
    rounds = tuple(
        msgspec.structs.replace(turn, message_bytes=0) if "latency" in turn.case else turn
        for turn in many.rounds(8)
    )
    found = many.verdicts(many.run(many.launch(8, rounds)))
    assert [verdict.rule for verdict in found if "could not be applied" in verdict.summary] == []


@pytest.mark.parametrize(
    ("share", "latency_s", "spread", "rule"),
    [
        (1.02, 11e-6, 0.01, ""),
        (1.6, 11e-6, 0.01, "above-ceiling"),
        (1.6, 11e-6, 0.6, ""),
        (0.99, 0.3e-6, 0.01, "floor"),
        (0.99, 0.3e-6, 0.9, ""),
    ],
)
def test_a_single_pair_that_is_surely_better_than_the_network_makes_it_invalid(
    share: float, latency_s: float, spread: float, rule: str
) -> None:
    def rate(one: int, two: int) -> float:
        return share if (one, two) == (0, 1) else many.sound(one, two)

    def late(one: int, two: int) -> float:
        return latency_s if (one, two) == (0, 1) else many.even(one, two)

    rounds = tuple(
        msgspec.structs.replace(
            turn, quartile_ps=tuple(int(spread * median) for median in turn.median_ps)
        )
        for turn in many.rounds(8, rate, late)
    )
    found = many.verdicts(many.run(many.launch(8, rounds)))
    invalid = {one.rule for one in found if one.outcome is Outcome.INVALID}
    assert invalid == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("busy", "outcome"),
    [({2}, Outcome.INCONCLUSIVE), (set(), Outcome.FAIL), ({*range(8)}, Outcome.FAIL)],
)
def test_interrupts_that_fill_a_processor_of_the_slow_node_alone_excuse_its_link(
    busy: set[int], outcome: Outcome
) -> None:
    slowed = many.slow(2, share=0.4)
    first, second = many.launch(8, many.rounds(8, slowed)), many.again(8, everybody(8), slowed)
    cases = tuple(
        msgspec.structs.replace(
            case,
            processors=tuple(
                msgspec.structs.replace(
                    planted.QUIET, rank=rank, busiest_softirq_share=0.98 if rank in busy else 0.1
                )
                for rank in (case.origin, case.target)
            ),
        )
        for case in second.measurements
    )
    run = many.run(first, msgspec.structs.replace(second, measurements=cases))
    (verdict,) = planted.by_rule(many.verdicts(run), "outliers")
    assert verdict.outcome is outcome
    assert verdict.about.names == ("c3",)


def bucket(node: Node) -> Node:
    port = node.interfaces[0]
    shaped = msgspec.structs.replace(port, shaper=Shaper(0.5e9 * 1514 / 1538, 32768))
    return msgspec.structs.replace(node, interfaces=(shaped, *node.interfaces[1:]))


def of_eight(slowed: many.Pairs, odd: Callable[[Node], Node], place: int) -> Run:
    first = many.launch(8, many.rounds(8, slowed))
    run = many.run(first, many.again(8, everybody(8), slowed))
    changed = tuple(odd(n) if n.name == f"c{place}" else n for n in run.fabric.nodes)
    return msgspec.structs.replace(run, fabric=msgspec.structs.replace(run.fabric, nodes=changed))


def test_the_cause_of_a_slow_sender_is_looked_for_in_what_it_sends() -> None:
    run = of_eight(lambda one, two: many.sound(one, two) * (0.5 if one == 5 else 1.0), bucket, 6)
    verdict = planted.the(many.verdicts(run), "outliers", Outcome.FAIL)
    assert "c6, sending" in verdict.subject
    assert verdict.cause.startswith("a token bucket on c6:eth0")


def test_a_token_bucket_of_a_slow_receiver_is_innocent() -> None:
    run = of_eight(lambda one, two: many.sound(one, two) * (0.5 if two == 5 else 1.0), bucket, 6)
    verdict = planted.the(many.verdicts(run), "outliers", Outcome.FAIL)
    assert "c6, receiving" in verdict.subject
    assert "token bucket" not in verdict.cause


def all_wait(launch: Launch, share: float) -> Launch:
    return msgspec.structs.replace(
        launch,
        measurements=tuple(
            msgspec.structs.replace(
                case,
                processors=tuple(
                    msgspec.structs.replace(
                        planted.QUIET, rank=rank, run_delay_s=share * case.wall_s
                    )
                    for rank in range(len(launch.nodes))
                ),
            )
            for case in launch.measurements
        ),
    )


@pytest.mark.parametrize(
    ("differ", "waits", "outcome"),
    [(0.06, 0.4, Outcome.INCONCLUSIVE), (0.06, 0.0, Outcome.FAIL), (0.0, 0.4, Outcome.FAIL)],
)
def test_many_pairs_have_a_narrow_median_and_are_no_wire_for_it(
    differ: float, waits: float, outcome: Outcome
) -> None:
    """Hosts that wait make pairs differ; a wire makes them all the same."""

    def slowed(one: int, two: int) -> float:
        return 0.6 * (1.0 + differ * ((7 * one + 3 * two) % 11 - 5) / 5)

    launch = all_wait(many.launch(16, many.rounds(16, slowed)), waits)
    found = many.verdicts(many.run(launch))
    assert overall(found) is outcome


@pytest.mark.parametrize(("alone", "half_duplex"), [(0.985, True), (0.5, False)])
def test_half_in_both_directions_at_once_is_half_duplex_if_one_direction_is_full(
    alone: float, half_duplex: bool
) -> None:
    both = [one for one in planted.samples(0.49) if one.pattern == "bidirectional_bandwidth"]
    rest = [one for one in planted.samples(alone) if one.pattern != "bidirectional_bandwidth"]
    launches = [planted.launch(map(planted.measurement, (*rest, *both)), n) for n in (1, 2, 3)]
    verdicts = planted.by_rule(planted.verdicts(planted.run(launches)), "fraction")
    (verdict,) = (one for one in verdicts if "both directions" in one.summary)
    assert ("half duplex" in verdict.cause) is half_duplex
    assert ("Duplex" in verdict.remedy) is half_duplex


def test_the_ends_of_a_slow_way_are_not_blamed() -> None:
    def slowed(one: int, two: int) -> float:
        return many.sound(one, two) * (0.3 if (one, two) == (2, 6) else 1.0)

    run = many.run(many.launch(8, many.rounds(8, slowed)), many.again(8, everybody(8), slowed))
    verdict = planted.the(many.verdicts(run), "outliers", Outcome.FAIL)
    assert verdict.about.names == ("c3", "c7")
    assert verdict.cause.startswith("the path between the two nodes")
    assert "cable" not in verdict.remedy


def at_speed(speed: float) -> Callable[[Node], Node]:
    def changed(node: Node) -> Node:
        port = msgspec.structs.replace(node.interfaces[0], speed_bit_s=speed)
        return msgspec.structs.replace(node, interfaces=(port, *node.interfaces[1:]))

    return changed


@pytest.mark.parametrize(("place", "named"), [(3, True), (5, False)])
def test_a_slow_node_is_not_explained_by_the_port_of_another_one(place: int, named: bool) -> None:
    verdicts = many.verdicts(of_eight(many.slow(2, share=0.25), at_speed(2.5e8), place))
    verdict = planted.the(verdicts, "outliers", Outcome.FAIL)
    assert verdict.about.names == ("c3",)
    assert ("c3:eth0 runs at 250 Mb/s" in verdict.cause) is named
    assert "c5" not in verdict.cause


@pytest.mark.parametrize(("lost", "named"), [(0.02, True), (0.0002, False)])
def test_losses_of_all_pairs_are_the_cause_where_all_are_slow(lost: float, named: bool) -> None:
    launch = many.launch(8, many.rounds(8, lambda one, two: 0.7 * many.sound(one, two)))
    cases = tuple(
        msgspec.structs.replace(
            case,
            sockets=tuple(
                (
                    msgspec.structs.replace(
                        planted.socket(0, 10**9),
                        local=f"10.77.0.1{rank + 1}:5",
                        remote="",
                        retransmitted_segments=int(lost * 10**9 / 1448),
                    ),
                )
                for rank in range(8)
            ),
        )
        for case in launch.measurements
    )
    run = many.run(msgspec.structs.replace(launch, measurements=cases))
    verdict = planted.the(many.verdicts(run), "fraction", Outcome.FAIL)
    assert ("loses segments" in verdict.cause) is named


LEAVES = Topology(
    tuple(Group(f"leaf{n}", tuple(f"c{4 * n + i}" for i in range(1, 5)), "top") for n in range(2))
)


@pytest.mark.parametrize(
    ("alone", "words"),
    [
        (None, "an oversubscribed level, or slower links"),
        (1.0, "an oversubscribed level, no defect"),
        (0.4, "slow links between groups"),
    ],
)
def test_a_slow_level_is_called_sound_only_if_a_pair_across_it_was_fast_alone(
    alone: float | None, words: str
) -> None:
    def crossing(share: float) -> many.Pairs:
        return lambda one, two: many.sound(one, two) * (share if one // 4 != two // 4 else 1.0)

    launches = [many.launch(8, many.rounds(8, crossing(0.4)))]
    if alone is not None:
        launches.append(many.again(8, [(0, 4), (4, 0), (1, 5), (5, 1)], crossing(alone)))
    verdicts = many.verdicts(many.run(*launches), LEAVES)
    verdict = planted.the(verdicts, "outliers", Outcome.WARN)
    assert verdict.summary.startswith(words)


@pytest.mark.parametrize(("place", "named"), [(3, True), (1, False)])
def test_a_partner_s_token_bucket_does_not_explain_a_slow_node(place: int, named: bool) -> None:
    """All the partner's own streams pass: its bucket does not bind."""
    verdicts = many.verdicts(of_eight(many.slow(2, share=0.3), bucket, place))
    verdict = planted.the(verdicts, "outliers", Outcome.FAIL)
    assert verdict.about.names == ("c3",)
    assert ("token bucket on c3" in verdict.cause) is named
    assert "c1:eth0" not in verdict.cause
