import msgspec
import numpy as np
import pytest

from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.model.measurement import Placement, Round
from fabricgauge.model.run import Ended, Launch

NODES = ("c1", "c2", "c3", "c4")
ENDED = Ended("done", 0, "", (), 1.0)


def rounds_of(
    case: str, ranks: int, *, window: int = 1, message_bytes: int = 8, slower: float = 1.0
) -> tuple[Round, ...]:
    """Each pair's time is 1000 ps by origin + 1 and target + 1, one round for each pair."""
    found: list[Round] = []
    for origin in range(ranks):
        for target in range(origin + 1, ranks):
            ways = [(origin, target)]
            if "bandwidth" in case:
                ways.append((target, origin))
            times = [int(1000 * slower * (10 * (a + 1) + b + 1)) for a, b in ways]
            found.append(Round(
                case, len(found), 0, message_bytes, window,
                tuple(a for a, _ in ways), tuple(b for _, b in ways), (9,) * len(ways),
                tuple(times), tuple(times), tuple(one // 10 for one in times), 0.1,
            ))  # fmt: skip
    return tuple(found)


def launch(*rounds: Round, nodes: tuple[str, ...] = NODES, **said: object) -> Launch:
    given = Launch(1, "ib", nodes, None, (), (), ENDED, rounds=rounds)
    return msgspec.structs.replace(given, **said)


def test_latency_is_symmetric_and_in_seconds() -> None:
    (one,) = matrices([launch(*rounds_of("all_pairs_latency/8", 4))])
    assert (one.network, one.quantity, one.message_bytes) == ("ib", "latency", 8)
    assert one.values[0, 1] == one.values[1, 0] == pytest.approx(12e-9)
    assert one.spread[0, 1] == pytest.approx(0.1)
    assert np.isnan(np.diag(one.values)).all()
    assert one.coverage == 1.0


def test_bandwidth_is_payload_by_time_in_each_direction() -> None:
    rounds = rounds_of("all_pairs_bandwidth/100", 4, window=3, message_bytes=100)
    (one,) = matrices([launch(*rounds)])
    assert one.quantity == "bandwidth"
    assert one.values[1, 2] == pytest.approx(300 / 23e-9)
    assert one.values[2, 1] == pytest.approx(300 / 32e-9)


def test_launches_and_repeated_rounds_are_passes() -> None:
    case = "all_pairs_latency/8"
    first = launch(*rounds_of(case, 4), *rounds_of(case, 4, slower=3.0))
    (one,) = matrices([first, launch(*rounds_of(case, 4, slower=2.0), number=2)])
    assert one.repeats.shape == (3, 4, 4)
    assert one.repeats[:, 0, 1] == pytest.approx([12e-9, 36e-9, 24e-9])
    assert one.values[0, 1] == pytest.approx(24e-9)


def test_launches_of_other_nodes_share_a_layer() -> None:
    case = "all_pairs_latency/8"
    one, other = launch(*rounds_of(case, 2)), launch(*rounds_of(case, 2), nodes=("c3", "c4"))
    (both,) = matrices([one, other])
    assert both.repeats.shape == (1, 4, 4)
    assert int(np.isfinite(both.values).sum()) == 4
    assert both.nodes == NODES


def test_a_pair_measured_again_has_more_passes_than_the_rest() -> None:
    case = "all_pairs_latency/8"
    again = launch(*rounds_of(case, 2, slower=5.0), nodes=("c1", "c2"))
    (one,) = matrices([launch(*rounds_of(case, 4)), again])
    assert np.isfinite(one.repeats[:, 0, 1]).sum() == 2
    assert np.isfinite(one.repeats[:, 0, 2]).sum() == 1
    assert one.values[0, 1] == pytest.approx(36e-9)
    assert one.values[0, 2] == pytest.approx(13e-9)


def test_networks_and_sizes_are_kept_apart() -> None:
    rounds = (
        *rounds_of("all_pairs_latency/8", 4),
        *rounds_of("all_pairs_latency/64", 4, message_bytes=64),
    )
    found = matrices([launch(*rounds), launch(*rounds, network="eth")])
    assert [(one.network, one.message_bytes) for one in found] == [
        ("ib", 8), ("ib", 64), ("eth", 8), ("eth", 64),
    ]  # fmt: skip


def test_ranks_of_one_node_are_one_by_their_median() -> None:
    places = tuple(
        Placement(rank, host, 1, "", "", "", 0, 0, "")
        for rank, host in enumerate(["b.site", "a.site", "b.site", "a.site"])
    )
    rounds = rounds_of("all_pairs_latency/8", 4)
    (one,) = matrices([launch(*rounds, nodes=("a", "b"), placements=places)])
    assert one.nodes == ("a", "b")
    times = [12e-9, 14e-9, 23e-9, 34e-9]  # ranks 0-1, 0-3, 1-2, 2-3; 0-2 and 1-3 share a node
    assert one.values[0, 1] == one.values[1, 0] == pytest.approx(np.median(times))


def test_a_time_of_zero_is_no_measurement() -> None:
    (first, *others) = rounds_of("all_pairs_latency/8", 4)
    broken = msgspec.structs.replace(first, median_ps=(0,))
    (one,) = matrices([launch(broken, *others)])
    assert np.isnan(one.values[0, 1])
    assert one.coverage == pytest.approx(10 / 12)


def test_no_rounds_give_no_matrix() -> None:
    assert matrices([launch()]) == ()
