import msgspec
from tests.report import sample

from fabricgauge.model.absence import Skipped
from fabricgauge.report.traffic import traffic


def test_the_pinned_interface_carries_nearly_all_of_the_sample() -> None:
    (group,) = traffic(sample.judged().run)
    assert (group.network, group.launches) == ("net1", 3)
    for node in group.nodes:
        busiest = node.crossings[0]
        assert (busiest.interface, busiest.serves, busiest.pinned) == ("eth0", ("net1",), True)
        assert isinstance(busiest.share, float)
        assert busiest.share > 0.999
        assert busiest.sent_bytes > node.payload_bytes


def test_shares_of_a_node_add_up_to_one() -> None:
    (group,) = traffic(sample.judged().run)
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
    (group,) = traffic(msgspec.structs.replace(run, launches=tuple(still)))
    assert all(isinstance(one.share, Skipped) for node in group.nodes for one in node.crossings)


def test_an_interface_of_another_network_is_not_called_pinned() -> None:
    run = sample.judged().run
    renamed = msgspec.structs.replace(run.fabric.networks[0], name="net2")
    fabric = msgspec.structs.replace(run.fabric, networks=(renamed,))
    (group,) = traffic(msgspec.structs.replace(run, fabric=fabric))
    assert not any(one.pinned for node in group.nodes for one in node.crossings)
