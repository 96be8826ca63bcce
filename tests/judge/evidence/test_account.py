from collections.abc import Callable

import msgspec
import pytest
from tests.report import sample

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.judge.evidence.traffic import sum_octets
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, Socket
from fabricgauge.model.run import Run


def test_the_pinned_interface_carries_nearly_all_of_the_sample() -> None:
    (group,) = gather_evidence(sample.judged().run).traffic
    assert (group.network, group.launches) == ("net1", 3)
    for node in group.nodes:
        busiest = node.crossings[0]
        assert (busiest.interface, busiest.serves, busiest.pinned) == ("eth0", ("net1",), True)
        assert isinstance(busiest.share, float)
        assert busiest.share > 0.999
        assert busiest.sent_bytes > node.payload_bytes


def test_shares_of_a_node_add_up_to_one() -> None:
    (group,) = gather_evidence(sample.judged().run).traffic
    for node in group.nodes:
        shares = [one.share for one in node.crossings if isinstance(one.share, float)]
        assert abs(sum(shares) - 1) < 1e-12


def test_a_share_is_absent_when_no_counter_moved() -> None:
    run = sample.judged().run
    still = [
        msgspec.structs.replace(
            one,
            measurements=tuple(
                msgspec.structs.replace(
                    case,
                    counters=tuple(
                        msgspec.structs.replace(node, after=node.before) for node in case.counters
                    ),
                )
                for case in one.measurements
            ),
        )
        for one in run.launches
    ]
    (group,) = gather_evidence(msgspec.structs.replace(run, launches=tuple(still))).traffic
    assert all(isinstance(one.share, Skipped) for node in group.nodes for one in node.crossings)


def test_an_interface_of_another_network_is_not_called_pinned() -> None:
    run = sample.judged().run
    renamed = msgspec.structs.replace(run.fabric.networks[0], name="net2")
    fabric = msgspec.structs.replace(run.fabric, networks=(renamed,))
    (group,) = gather_evidence(msgspec.structs.replace(run, fabric=fabric)).traffic
    assert not any(one.pinned for node in group.nodes for one in node.crossings)


def changed(change: Callable[[Measurement], Measurement]) -> Run:
    run = sample.judged().run
    launches = tuple(
        msgspec.structs.replace(one, measurements=tuple(map(change, one.measurements)))
        for one in run.launches
    )
    return msgspec.structs.replace(run, launches=launches)


def beside(name: str, *, tcp: bool = False) -> Callable[[Measurement], Measurement]:
    """Another interface that counts what ``eth0`` counts, on every node."""

    def change(one: Measurement) -> Measurement:
        counters = tuple(
            msgspec.structs.replace(
                node,
                before={**node.before, name: node.before["eth0"]},
                after={**node.after, name: node.after["eth0"]},
            )
            for node in one.counters
        )
        sockets = tuple((socket(sent),) for sent in one.payload_sent_bytes) if tcp else ((), ())
        return msgspec.structs.replace(one, counters=counters, sockets=sockets)

    return change


def socket(sent_bytes: int) -> Socket:
    return Socket("10.0.0.1:1", "10.0.0.2:1", sent_bytes, 0, 0, 1448, 0, 0, 0, 0, "cubic")


def least_share(run: Run) -> float:
    shares = [
        one.share
        for group in gather_evidence(run).traffic
        for node in group.nodes
        for one in node.crossings
        if one.pinned and not isinstance(one.share, Skipped)
    ]
    return min(shares)


def test_members_of_a_bond_are_left_out_as_the_path_proof_does() -> None:
    run = changed(beside("ens1"))
    nodes = tuple(
        msgspec.structs.replace(
            node,
            interfaces=(
                *node.interfaces,
                msgspec.structs.replace(node.interfaces[0], name="ens1", addresses=()),
            ),
        )
        for node in run.fabric.nodes
    )
    of = msgspec.structs.replace(run.fabric, nodes=nodes)
    assert least_share(msgspec.structs.replace(run, fabric=of)) > 0.999


def test_a_vlan_is_not_counted_on_its_parent_as_well() -> None:
    (group,) = gather_evidence(changed(beside("eth0.7"))).traffic
    sent = {one.interface: one.sent_bytes for one in group.nodes[0].crossings}
    assert sent["eth0"] == 0
    assert sent["eth0.7"] > 0


def test_a_port_of_an_adapter_is_left_out_where_tcp_carried_the_payload() -> None:
    assert least_share(changed(beside("mlx5_0:1", tcp=True))) > 0.999
    assert 0.4 < least_share(changed(beside("mlx5_0:1"))) < 0.6


def test_octets_of_failed_cases_are_left_out_and_their_errors_are_not() -> None:
    def fail(one: Measurement) -> Measurement:
        first, second = one.counters
        wrong = msgspec.structs.replace(second.after["eth0"], rx_errors=1)
        broken = msgspec.structs.replace(second, after={**second.after, "eth0": wrong})
        return msgspec.structs.replace(one, status="failed", counters=(first, broken))

    (group,) = gather_evidence(changed(fail)).traffic
    assert all(node.payload_bytes == 0 for node in group.nodes)
    assert sum(one.errors for node in group.nodes for one in node.crossings) > 0


def test_the_payload_of_a_node_is_that_of_all_its_ranks() -> None:
    """Three ranks per node: one of each node reads the counters, all six send."""
    run = sample.judged().run

    def three(one: Measurement) -> Measurement:
        first, second = one.counters
        sent = one.payload_sent_bytes
        return msgspec.structs.replace(
            one,
            counters=(first, msgspec.structs.replace(second, rank=3)),
            payload_sent_bytes=tuple(part // 3 for part in sent for _ in range(3)),
        )

    launches = tuple(
        msgspec.structs.replace(
            one,
            nodes=tuple(node for node in one.nodes for _ in range(3)),
            measurements=tuple(map(three, one.measurements)),
        )
        for one in run.launches
    )
    several = msgspec.structs.replace(run, launches=launches)
    (before,), (after,) = gather_evidence(run).traffic, gather_evidence(several).traffic
    for alone, shared in zip(before.nodes, after.nodes, strict=True):
        assert shared.payload_bytes == pytest.approx(alone.payload_bytes, rel=1e-3)
        assert shared.crossings[0].sent_bytes == alone.crossings[0].sent_bytes
    for launch in several.launches:
        proved = {one.node: one.payload_bytes for one in sum_octets(launch, several.fabric)}
        (account,) = gather_evidence(msgspec.structs.replace(several, launches=(launch,))).traffic
        assert {one.node: one.payload_bytes for one in account.nodes} == proved
