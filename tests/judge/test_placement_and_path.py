"""Where the ranks ran and what the bytes crossed decide before any figure does."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.judging import overall
from fabricgauge.model.measurement import (
    InterfaceCounters,
    Measurement,
    NodeCounters,
    Placement,
)
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, exit_status


def with_placements(*placements: Placement, virtual: bool = False) -> Run:
    launches = [
        msgspec.structs.replace(launch, placements=placements)
        for launch in planted.sound_launches()
    ]
    fabric = msgspec.structs.replace(planted.fabric(), virtual=virtual)
    return planted.run(launches, of=fabric)


def on(rank: int, host: str, boot_id: str, net_namespace: str) -> Placement:
    return Placement(rank, host, 1, boot_id, net_namespace, "0", 0, 0, "")


def crossing(split: planted.Split) -> Run:
    samples = planted.samples()
    return planted.run([planted.launch(planted.measurement(one, split=split) for one in samples)])


def test_placement_is_invalid_when_both_ranks_share_a_network_stack() -> None:
    run = with_placements(on(0, "c1", "b", "net:[1]"), on(1, "other", "b", "net:[1]"))
    verdict = planted.the(planted.verdicts(run), "placement", Outcome.INVALID)
    assert "c1" in verdict.summary
    assert "one node" in verdict.cause
    assert verdict.remedy


@given(fraction=st.floats(0.01, 3.0))
def test_one_node_is_invalid_whatever_the_figures(fraction: float) -> None:
    one_node = (on(0, "c1", "b", "net:[1]"), on(1, "c1", "b", "net:[2]"))
    launches = [
        msgspec.structs.replace(launch, placements=one_node)
        for launch in planted.sound_launches(fraction)
    ]
    given_verdicts = planted.verdicts(planted.run(launches))
    assert overall(given_verdicts) is Outcome.INVALID
    assert exit_status(overall(given_verdicts)) == 3


def test_placement_is_invalid_when_the_ranks_are_swapped() -> None:
    run = with_placements(on(0, "c2", "boot-c2", "net:[1]"), on(1, "c1", "boot-c1", "net:[0]"))
    verdict = planted.the(planted.verdicts(run), "placement", Outcome.INVALID)
    assert "planned node is c1" in verdict.summary


def test_one_kernel_passes_on_a_virtual_cluster_and_warns_elsewhere() -> None:
    virtual = planted.verdicts(_of_one_kernel(("c1", "c2"), virtual=True))
    assert "virtual cluster" in planted.the(virtual, "placement", Outcome.PASS).evidence[0]
    real = planted.verdicts(_of_one_kernel(("c1", "c2"), virtual=False))
    assert planted.outcomes(real, "placement") == {Outcome.WARN}


def _of_one_host_name(*, virtual: bool) -> Run:
    """Two nodes that are both called c2."""
    return _of_one_kernel(("c2", "c2"), virtual=virtual)


def _of_one_kernel(names: tuple[str, str], *, virtual: bool) -> Run:
    """Two nodes with these host names: one kernel, a network stack of their own each."""
    places = (on(0, names[0], "b", "net:[1]"), on(1, names[1], "b", "net:[2]"))
    run = with_placements(*places, virtual=virtual)
    nodes = tuple(
        msgspec.structs.replace(
            node, hostname=names[number - 1], boot_id="b", net_namespace=f"net:[{number}]"
        )
        for number, node in enumerate(run.fabric.nodes, 1)
    )
    fabric = msgspec.structs.replace(run.fabric, nodes=nodes)
    return msgspec.structs.replace(run, fabric=fabric)


def test_two_nodes_of_one_host_name_are_told_apart_by_their_network_stacks() -> None:
    virtual = planted.verdicts(_of_one_host_name(virtual=True))
    assert planted.outcomes(virtual, "placement") == {Outcome.PASS}
    real = planted.verdicts(_of_one_host_name(virtual=False))
    assert planted.outcomes(real, "placement") == {Outcome.WARN}


def test_both_ranks_on_one_of_two_nodes_of_one_host_name_are_invalid() -> None:
    run = _of_one_host_name(virtual=True)
    for where in (
        (on(0, "c2", "b", "net:[2]"), on(1, "c2", "b", "net:[2]")),
        (on(0, "c2", "b", "net:[2]"), on(1, "c2", "b", "net:[1]")),
        (on(0, "c2", "b", ""), on(1, "c2", "b", "net:[2]")),
    ):
        launches = [msgspec.structs.replace(one, placements=where) for one in run.launches]
        given_verdicts = planted.verdicts(planted.run(launches, of=run.fabric))
        assert planted.outcomes(given_verdicts, "placement") == {Outcome.INVALID}


def test_each_rank_on_the_wrong_one_of_two_nodes_of_one_host_name_is_told_by_its_stack() -> None:
    run = _of_one_host_name(virtual=True)
    exchanged = (on(0, "c2", "b", "net:[2]"), on(1, "c2", "b", "net:[1]"))
    launches = [msgspec.structs.replace(one, placements=exchanged) for one in run.launches]
    given_verdicts = planted.verdicts(planted.run(launches, of=run.fabric))
    verdict = planted.the(given_verdicts, "placement", Outcome.INVALID)
    assert [line.partition(": ")[2] for line in verdict.evidence[-2:]] == [
        "rank 0 ran on c2, but its planned node is c1",
        "rank 1 ran on c1 (host name c2), but its planned node is c2: its network namespace is"
        " net:[1], that of c2 is net:[2]",
    ]


def test_a_node_that_was_started_again_after_discovery_is_named_and_undecided() -> None:
    later = (on(0, "c1", "boot-c1", "net:[0]"), on(1, "c2", "boot-x", "net:[1]"))
    given_verdicts = planted.verdicts(with_placements(*later))
    verdict = planted.the(given_verdicts, "placement", Outcome.INCONCLUSIVE)
    assert verdict.summary.endswith(
        "rank 1 ran on c2, which was probably started again since discovery: its boot id is boot-x,"
        " that of c2 is boot-c2"
    )
    assert "started again" in verdict.cause and "measure again" in verdict.remedy
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_a_rank_on_another_known_node_of_the_planned_name_is_invalid() -> None:
    """Discovery knows the boot id as that of c1: two boards have one host name."""
    other = (on(0, "c2", "boot-c2", "net:[7]"), on(1, "c2", "boot-c1", "net:[8]"))
    given_verdicts = planted.verdicts(with_placements(*other))
    assert planted.outcomes(given_verdicts, "placement") == {Outcome.INVALID}


def test_a_node_may_boot_before_a_resumption_and_between_jobs() -> None:
    run = with_placements(on(0, "c1", "boot-x", "net:[0]"), on(1, "c2", "boot-y", "net:[1]"))
    resumed = msgspec.structs.replace(run, launches=tuple(
        msgspec.structs.replace(launch, attempt=2) for launch in run.launches
    ))  # fmt: skip
    jobs = msgspec.structs.replace(run, environment={"Slurm JobId": "17"})
    for one, outcome in (
        (run, Outcome.INCONCLUSIVE), (resumed, Outcome.PASS), (jobs, Outcome.PASS)
    ):  # fmt: skip
        assert planted.outcomes(planted.verdicts(one), "placement") == {outcome}


def test_another_network_namespace_is_another_node_in_a_virtual_cluster_only() -> None:
    """Ranks in containers have namespaces that discovery did not see."""
    places = (on(0, "c1", "boot-c1", "net:[8]"), on(1, "c2", "boot-c2", "net:[9]"))
    for virtual, outcome in ((True, Outcome.INVALID), (False, Outcome.PASS)):
        given_verdicts = planted.verdicts(with_placements(*places, virtual=virtual))
        assert planted.outcomes(given_verdicts, "placement") == {outcome}


def test_fully_qualified_host_names_are_the_planned_nodes() -> None:
    run = with_placements(
        on(0, "c1.cluster.example", "boot-c1", "net:[7]"),
        on(1, "c2.cluster.example", "boot-c2", "net:[7]"),
    )
    assert planted.outcomes(planted.verdicts(run), "placement") == {Outcome.PASS}


def test_placement_is_inconclusive_when_no_rank_said_where_it_ran() -> None:
    given_verdicts = planted.verdicts(with_placements())
    assert planted.outcomes(given_verdicts, "placement") == {Outcome.INCONCLUSIVE}
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_path_is_invalid_when_another_interface_carried_the_bytes() -> None:
    verdict = planted.the(planted.verdicts(crossing({"eth1": 1.0})), "path", Outcome.INVALID)
    assert "crossed eth1, not eth0" in verdict.summary
    assert any("eth1" in line and "GB" in line for line in verdict.evidence)


def test_path_is_invalid_when_counters_did_not_move() -> None:
    run = planted.run(planted.without_sockets(crossing({"eth0": 0.0}).launches))
    verdict = planted.the(planted.verdicts(run), "path", Outcome.INVALID)
    assert "shared memory" in verdict.summary


def test_path_is_undecided_when_tcp_counted_what_the_interfaces_did_not() -> None:
    run = crossing({"eth0": 0.0})
    assert planted.outcomes(planted.verdicts(run), "path") == {Outcome.INCONCLUSIVE}
    one_machine = planted.run(
        msgspec.structs.replace(one, placements=tuple(
            msgspec.structs.replace(place, boot_id="boot-c1") for place in one.placements
        ))
        for one in run.launches
    )  # fmt: skip
    assert planted.outcomes(planted.verdicts(one_machine), "path") == {Outcome.INVALID}


def test_path_is_invalid_when_two_interfaces_shared_the_bytes() -> None:
    run = crossing({"eth0": 0.6, "eth1": 0.4})
    verdict = planted.the(planted.verdicts(run), "path", Outcome.INVALID)
    assert "60.0 %" in verdict.summary
    assert verdict.figure is not None
    assert 0.59 < verdict.figure.value < 0.61


def test_counters_that_are_a_little_behind_the_payload_are_a_doubt_and_no_accusation() -> None:
    """As a driver leaves them that refreshes them once a second: 94.5 % of the payload."""
    verdict = planted.the(planted.verdicts(crossing({"eth0": 0.9})), "path", Outcome.INCONCLUSIVE)
    assert "94.5 % of the payload" in verdict.summary
    assert "lag behind" in verdict.cause
    split = crossing({"eth0": 0.9, "eth1": 0.1})
    assert planted.outcomes(planted.verdicts(split), "path") == {Outcome.INVALID}


def test_what_ranks_of_one_machine_may_have_kept_in_memory_is_no_lag() -> None:
    (launch,) = crossing({"eth0": 0.9}).launches
    places = (on(0, "c1", "b", "net:[0]"), on(1, "c2", "b", "net:[1]"))
    for together in (
        msgspec.structs.replace(launch, placements=places),
        msgspec.structs.replace(launch, placements=(), nodes=("c1", "c1")),
    ):
        given_verdicts = planted.verdicts(planted.run([together]))
        assert planted.outcomes(given_verdicts, "path") == {Outcome.INVALID}


def test_path_warns_when_foreign_traffic_is_told_apart_by_the_connections() -> None:
    assert planted.outcomes(planted.verdicts(crossing({"eth0": 1.0, "eth1": 0.5})), "path") == {
        Outcome.WARN
    }


def test_path_is_inconclusive_when_mpi_was_free_to_choose() -> None:
    samples = planted.samples()
    measured = (planted.measurement(one, split={"eth0": 0.7, "eth1": 0.3}) for one in samples)
    given_verdicts = planted.verdicts(planted.run([planted.launch(measured, network=None)]))
    verdict = planted.the(given_verdicts, "path", Outcome.INCONCLUSIVE)
    assert "net1 70.0 %" in verdict.summary
    assert "net2 30.0 %" in verdict.summary
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_path_leaves_out_a_case_whose_counters_went_backwards() -> None:
    first, *rest = planted.sound_launches()
    bad = first.measurements[-1]
    swapped = tuple(
        msgspec.structs.replace(one, before=one.after, after=one.before) for one in bad.counters
    )
    wrapped = msgspec.structs.replace(bad, counters=swapped)
    launch = msgspec.structs.replace(first, measurements=(*first.measurements[:-1], wrapped))
    verdict = planted.the(planted.verdicts(planted.run([launch, *rest])), "path", Outcome.PASS)
    assert any("went backwards" in line for line in verdict.evidence)


def test_path_counts_a_bond_once_although_its_members_count_as_well() -> None:
    bare = planted.fabric()
    nodes = tuple(
        msgspec.structs.replace(
            node,
            interfaces=(
                *node.interfaces,
                msgspec.structs.replace(node.interfaces[0], name="slave0", addresses=()),
            ),
        )
        for node in bare.nodes
    )
    samples = planted.samples()
    split = {"eth0": 1.0, "slave0": 1.0}
    launches = [planted.launch(planted.measurement(one, split=split) for one in samples)]
    run = planted.run(launches, of=msgspec.structs.replace(bare, nodes=nodes))
    assert planted.outcomes(planted.verdicts(run), "path") == {Outcome.PASS}


def test_path_and_placement_ignore_the_loopback_reference() -> None:
    launches: list[Launch] = list(planted.sound_launches())
    reference = planted.launch(
        (planted.measurement(one, split={"lo": 1.0}) for one in planted.samples()), 4
    )
    launches.append(msgspec.structs.replace(reference, network="loopback:c1", nodes=("c1", "c1")))
    given_verdicts = planted.verdicts(planted.run(launches))
    assert overall(given_verdicts) is Outcome.PASS
    assert {one.subject for one in planted.by_rule(given_verdicts, "path")} == {"net1"}


def test_path_leaves_out_a_port_of_an_adapter_where_tcp_carried_the_payload() -> None:
    split = {"eth0": 1.0, "mlx5_0:1": 1.0}
    measured = [planted.measurement(one, split=split) for one in planted.samples()]
    by_tcp = [planted.launch(measured)]
    given = planted.verdicts(planted.run(by_tcp))
    assert planted.outcomes(given, "path") == {Outcome.PASS}
    other = planted.verdicts(planted.run(planted.without_sockets(by_tcp)))
    assert planted.outcomes(other, "path") != {Outcome.PASS}


def test_counters_that_could_not_be_read_prove_nothing_and_accuse_no_shared_memory() -> None:
    def hide(one: Measurement) -> Measurement:
        unread = tuple(
            NodeCounters(each.rank, each.host, {}, {}, {"/proc/self/net/dev": "No such file"})
            for each in one.counters
        )
        return msgspec.structs.replace(one, counters=unread)

    launches = planted.changed(planted.sound_launches(), hide)
    verdict = planted.the(planted.verdicts(planted.run(launches)), "path", Outcome.INCONCLUSIVE)
    assert any("/proc/self/net/dev could not be read: No such" in line for line in verdict.evidence)


def test_a_port_that_could_not_be_read_is_told_where_the_others_carried_the_payload() -> None:
    def hide(one: Measurement) -> Measurement:
        unread = tuple(
            msgspec.structs.replace(each, absent={"mlx5_0:1": "Permission denied"})
            for each in one.counters
        )
        return msgspec.structs.replace(one, counters=unread)

    launches = planted.changed(planted.sound_launches(), hide)
    verdict = planted.the(planted.verdicts(planted.run(launches)), "path", Outcome.PASS)
    assert any("mlx5_0:1 could not be read" in line for line in verdict.evidence)


def test_a_launch_that_sent_too_little_is_a_doubt_only_beside_one_that_proved_the_path() -> None:
    few = planted.launch([planted.measurement(planted.Sample("latency", 8, 0, 9e-6))], 2)
    beside = planted.verdicts(planted.run([*planted.sound_launches()[:1], few]))
    verdict = planted.the(beside, "path", Outcome.WARN)
    assert "launch 2: too little payload" in verdict.summary
    assert planted.outcomes(planted.verdicts(planted.run([few])), "path") == {Outcome.INCONCLUSIVE}


def test_suspects_measured_again_with_small_messages_only_leave_no_doubt() -> None:
    few = planted.launch([planted.measurement(planted.Sample("latency", 8, 0, 9e-6))], 2)
    again = msgspec.structs.replace(few, purpose="again")
    beside = planted.verdicts(planted.run([*planted.sound_launches()[:1], again]))
    verdict = planted.the(beside, "path", Outcome.PASS)
    assert any("launch 2: too little payload" in line for line in verdict.evidence)
    alone = planted.verdicts(planted.run([again]))
    assert planted.outcomes(alone, "path") == {Outcome.INCONCLUSIVE}


def test_placement_is_invalid_when_each_rank_sent_to_itself() -> None:
    launches = planted.changed(
        planted.sound_launches(), lambda one: msgspec.structs.replace(one, target=one.origin)
    )
    verdict = planted.the(planted.verdicts(planted.run(launches)), "placement", Outcome.INVALID)
    assert "is origin and target of" in verdict.summary


def test_two_nodes_with_the_same_counters_prove_no_path() -> None:
    def busy(counters: NodeCounters, rank: int) -> NodeCounters:
        def since_boot(counts: InterfaceCounters, received: int) -> InterfaceCounters:
            return msgspec.structs.replace(
                counts, tx_bytes=counts.tx_bytes + 1000, rx_bytes=received + 1000 + rank
            )

        before = {name: since_boot(counts, 0) for name, counts in counters.before.items()}
        after = {name: since_boot(counts, 600) for name, counts in counters.after.items()}
        return msgspec.structs.replace(counters, before=before, after=after)

    def outcome_of(*, copied: bool) -> Outcome:
        launches = planted.changed(
            planted.sound_launches(),
            lambda case: msgspec.structs.replace(case, counters=tuple(
                msgspec.structs.replace(
                    busy(case.counters[node], node), rank=rank, host=f"c{rank + 1}"
                )
                for rank, node in ((0, 0), (1, 0 if copied else 1))
            )),
        )  # fmt: skip
        (verdict,) = planted.by_rule(planted.verdicts(planted.run(launches)), "path")
        assert any("have the same counters" in line for line in verdict.evidence) is copied
        return verdict.outcome

    assert outcome_of(copied=True) is Outcome.INCONCLUSIVE
    assert outcome_of(copied=False) is Outcome.PASS
