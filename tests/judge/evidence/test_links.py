"""Which links went away while a run was measured, from the readings of each case."""

from collections.abc import Sequence

import msgspec
import pytest
from tests import rdma_nodes
from tests.judge import planted
from tests.nodes.discover.test_ports import alike

from fabricgauge.judge.evidence.links import FlapWatch, LinkEvent, link_events
from fabricgauge.judge.judging import overall
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import InterfaceCounters, LinkReading, Measurement
from fabricgauge.model.run import CountersAround, Launch, Run
from fabricgauge.model.verdict import Outcome

BEGAN = 1_795_458_600.0


def counted(count: int | Skipped, counter: str = "carrier_changes") -> InterfaceCounters:
    link = LinkReading("up", 1e9, {counter: count})
    return msgspec.structs.replace(planted.NO_TRAFFIC, link=link)


def with_link(
    one: Measurement,
    before: int | Skipped,
    after: int | Skipped,
    at_s: float,
    *,
    name: str = "eth0",
    counter: str = "carrier_changes",
) -> Measurement:
    """The case ran for 0.5 s from ``at_s``; c2 read these counts before and after it."""
    counters = list(one.counters)
    counters[1] = msgspec.structs.replace(
        counters[1],
        before={**counters[1].before, name: counted(before, counter)},
        after={**counters[1].after, name: counted(after, counter)},
        read_utc_s=(BEGAN + at_s, BEGAN + at_s + 0.5),
    )
    return msgspec.structs.replace(one, counters=tuple(counters))


def launched(
    readings: Sequence[tuple[int | Skipped, int | Skipped, float]],
    number: int = 1,
    counter: str = "carrier_changes",
) -> Launch:
    """A launch of as many cases as there are readings before and after one, with their times."""
    cases = (planted.measurement(one) for one in planted.samples())
    return planted.launch(
        (
            with_link(case, *reading, counter=counter)
            for case, reading in zip(cases, readings, strict=False)
        ),
        number,
    )


def test_a_link_that_changed_while_a_case_ran_is_told_with_node_port_case_and_time() -> None:
    launch = launched([(2, 2, 0.0), (2, 4, 1.0), (4, 4, 2.0)])
    case = launch.measurements[1].case
    assert link_events([launch]) == (
        LinkEvent("c2", "eth0", "carrier_changes", 2, BEGAN + 1.0, BEGAN + 1.5, case),
    )


def test_a_change_between_two_cases_and_between_two_launches_is_told() -> None:
    first = launched([(2, 2, 0.0), (3, 3, 1.0)])
    second = launched([(4, 4, 9.0)], 2)
    assert [(one.count, one.case) for one in link_events([first, second])] == [(1, ""), (1, "")]


def test_a_steady_link_and_one_that_is_not_counted_have_no_events() -> None:
    assert not link_events([launched([(2, 2, 0.0), (2, 2, 1.0)])])
    assert not link_events([launched([(Skipped("an old kernel"), 4, 0.0), (4, 4, 1.0)])])
    assert not link_events(planted.sound_launches())


def test_what_fell_long_ago_or_on_another_kernel_is_no_event() -> None:
    assert not link_events([launched([(7, 7, 0.0), (0, 0, 1.0)])])
    first, late = launched([(2, 2, 0.0)]), launched([(4, 4, 86_400.0)], 2)
    assert not link_events([first, late])
    other = msgspec.structs.replace(
        launched([(4, 4, 9.0)], 2),
        placements=tuple(
            msgspec.structs.replace(one, boot_id="another") for one in first.placements
        ),
    )
    assert not link_events([first, other])


def test_what_a_broken_launch_was_seen_to_lose_is_not_told_twice() -> None:
    broken = launched([(2, 2, 0.0)])
    ended = msgspec.structs.replace(broken.ended, changes=("c2:eth0 has lost its carrier",))
    lost = msgspec.structs.replace(broken, ended=ended)
    assert not link_events([lost, launched([(4, 4, 9.0)], 2)])


def test_around_another_suite_s_program_links_are_told_too() -> None:
    counters = with_link(planted.measurement(planted.samples()[0]), 2, 4, 0.0).counters
    launch = msgspec.structs.replace(
        launched([]), around=CountersAround(counters, (1, 1)), program="osu_bw"
    )
    (event,) = link_events([launch])
    assert (event.node, event.count, event.case) == ("c2", 2, "osu_bw")


def run_of(*launches: Launch) -> Run:
    """Whole launches, of which the given cases replace the first ones."""
    whole = (
        msgspec.structs.replace(
            one,
            measurements=(*short.measurements, *one.measurements[len(short.measurements) :]),
        )
        for one, short in zip(planted.sound_launches(), launches, strict=False)
    )
    return planted.run(whole)


def test_link_fails_when_it_went_and_came_back_whatever_the_figures() -> None:
    run = run_of(launched([(12, 14, 0.0), (14, 14, 3.0), (24, 24, 30.0)]))
    given = planted.verdicts(run)
    verdict = planted.the(given, "link", Outcome.FAIL)
    assert verdict.summary == (
        "the link went down or came up 12 times between 18:30:00 and 18:30:30 UTC"
    )
    assert (verdict.subject, verdict.about.names) == ("net1, c2:eth0", ("c2",))
    case = run.launches[0].measurements[0].case
    assert verdict.evidence[0] == (
        f"carrier_changes of c2:eth0 rose by 2 between 18:30:00 and 18:30:00 UTC, while {case} ran"
    )
    assert overall(given) is Outcome.FAIL


@pytest.mark.parametrize("times", [40])
def test_of_many_events_the_evidence_has_some_and_says_how_many_more(times: int) -> None:
    readings = [(n, n + 1, float(n)) for n in range(times)]
    verdict = planted.the(planted.verdicts(run_of(launched(readings))), "link", Outcome.FAIL)
    told = min(times, len(planted.samples()))
    assert verdict.evidence[-1] == f"and {told - 12} more events of this kind"


def test_an_interface_of_another_network_is_not_held_against_this_one() -> None:
    cases = [planted.measurement(one) for one in planted.samples()]
    cases[0] = with_link(cases[0], 0, 2, 0.0, name="eth1")
    run = planted.run([planted.launch(cases)])
    assert planted.outcomes(planted.verdicts(run), "link") == {Outcome.PASS}


def over_ipoib(port: str, on: str, *, told: bool) -> set[Outcome]:
    """Rule link of net1 over IPoIB on c2's eth0, whose port or another one retrained.

    ``told``: the port's interface ``on`` is known, not only those of its PCI function.
    """
    cases = [planted.measurement(one) for one in planted.samples()]
    cases[0] = with_link(cases[0], 3, 4, 0.0, name=port, counter="link_error_recovery")
    bare, device = planted.fabric(), port.partition(":")[0]
    like = alike(rdma_nodes.HDR).nodes[0]
    adapter = msgspec.structs.replace(like.adapters[0], interfaces=(on,), rdma_devices=(device,))
    unknown = Skipped(f"no interface belongs to {port}")
    theirs = msgspec.structs.replace(
        like.rdma_ports[0], device=device, interface=on if told else unknown
    )
    nodes = tuple(
        msgspec.structs.replace(
            one, adapters=() if told else (adapter,), rdma_ports=(theirs,)
        )
        for one in bare.nodes
    )  # fmt: skip
    ported = msgspec.structs.replace(bare.networks[0], technology="ipoib")
    of = msgspec.structs.replace(bare, nodes=nodes, networks=(ported,))
    return planted.outcomes(planted.verdicts(planted.run([planted.launch(cases)], of=of)), "link")


@pytest.mark.parametrize("told", [True, False])
def test_a_port_that_retrained_warns_only_where_the_network_is_on_it(told: bool) -> None:
    assert over_ipoib("mlx5_0:1", "eth0", told=told) == {Outcome.WARN}
    assert over_ipoib("mlx5_1:1", "eth1", told=told) == {Outcome.PASS}


def test_of_a_network_with_two_rails_both_are_its_own_and_other_ports_are_not() -> None:
    fabric = planted.fabric()
    first, second = fabric.networks
    both = msgspec.structs.replace(first, members=(*first.members, *second.members))
    event = LinkEvent("c2", "eth1", "carrier_changes", 2, BEGAN, BEGAN, "")
    assert event.is_of(both, fabric)
    assert not event.is_of(first, fabric)
    members = tuple(msgspec.structs.replace(one, interface="mlx5_0:1") for one in first.members)
    rail = msgspec.structs.replace(first, technology="infiniband", subnet="", members=members)
    ports = [msgspec.structs.replace(event, interface=f"mlx5_{n}:1") for n in (0, 1)]
    assert [one.is_of(rail, fabric) for one in ports] == [True, False]


def flapping(readings: Sequence[tuple[int | Skipped, int | Skipped, float]]) -> dict[str, str]:
    """What a watch of net1 says after a launch with these readings of c2's eth0."""
    launch = launched(readings)
    watch = FlapWatch(planted.network(), planted.fabric(), launch.nodes)
    for one in launch.measurements:
        watch.saw(one)
    return watch.flapping()


def test_a_port_whose_link_came_and_went_six_times_flaps() -> None:
    found = flapping([(2, 4, 0.0), (5, 7, 1.0), (7, 8, 2.0)])
    assert found == {"c2": "eth0 lost its link or got it back 6 times"}
    assert not flapping([(2, 4, 0.0), (5, 7, 1.0)])
    assert not flapping([(Skipped("an old kernel"), 40, 0.0)])


def test_links_that_go_away_at_several_nodes_are_nobody_s_alone() -> None:
    launch = launched([(2, 20, 0.0)])
    watch = FlapWatch(planted.network(), planted.fabric(), launch.nodes)
    for one in launch.measurements:
        counters = tuple(
            msgspec.structs.replace(
                each, before={"eth0": counted(2)}, after={"eth0": counted(20)},
                read_utc_s=(BEGAN, BEGAN + 0.5),
            )
            for each in one.counters
        )  # fmt: skip
        watch.saw(msgspec.structs.replace(one, counters=counters))
    assert not watch.flapping()
