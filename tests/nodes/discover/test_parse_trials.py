"""What trials.sh printed with several systems' tools, whole, cut off and broken."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.preflight import Lookup, Ping, Rise
from fabricgauge.nodes.discover.probe import NodeAnswer
from fabricgauge.nodes.discover.trials import Echo, NodeTrial, TrialResults, add_answer

FIXTURES = Path(__file__).parents[2] / "fixtures/trials"
SMALL, WHOLE, LARGE, TOO_LARGE, NOBODY, NOT_OURS, NO_ROUTE = range(7)
#: The number of each trial is its target's: names and addresses follow.
TRIAL = NodeTrial(
    tuple(
        Echo("net1", "c1", "eth0", "10.77.0.11", "c2", str(number), 56, number == WHOLE, 2)
        for number in range(7)
    ),
    ("known", "unknown"),
    ("10.77.0.12", "10.77.0.99"),
)
KNOWN, UNKNOWN = (Lookup("c1", "known", ("10.77.0.12",)), Lookup("c1", "unknown", ()))


def read(raw: str, trial: NodeTrial = TRIAL) -> TrialResults:
    """Asked at 1 s and answered at 2 s of this machine's clock."""
    found = TrialResults()
    add_answer(found, NodeAnswer("c1", raw, "", 1.0, 2.0), trial)
    return found


def tried(name: str) -> TrialResults:
    return read((FIXTURES / f"{name}.out").read_text())


def echoed(found: TrialResults, number: int) -> Ping:
    (one,) = (ping for ping in found.pings if ping.target_ip == str(number))
    return one


@pytest.mark.parametrize(
    ("name", "small_s", "large_s"),
    [
        ("iputils-20221126--lab", 0.074e-3, 1.115e-3),
        ("busybox-1.35--lab", 0.081e-3, 1.238e-3),
    ],
)
def test_the_shortest_round_trip_counts(name: str, small_s: float, large_s: float) -> None:
    found = tried(name)
    assert (echoed(found, SMALL).sent, echoed(found, SMALL).received) == (3, 3)
    assert echoed(found, SMALL).rtt_s == pytest.approx(small_s)
    assert echoed(found, LARGE).rtt_s == pytest.approx(large_s)


@pytest.mark.parametrize("name", ["iputils-20221126--lab", "busybox-1.35--lab"])
def test_an_address_of_nobody_answers_nothing(name: str) -> None:
    one = echoed(tried(name), NOBODY)
    assert (one.sent, one.received) == (2, 0)
    assert isinstance(one.rtt_s, Skipped)


def test_what_the_network_refuses_is_a_loss_and_told() -> None:
    found = tried("iputils-20221126--lab")
    assert echoed(found, NOT_OURS).told == "ping: bind: Cannot assign requested address"
    assert echoed(found, TOO_LARGE).told == "ping: local error: message too long, mtu=1500"
    unreachable = echoed(tried("busybox-1.35--lab"), NO_ROUTE)
    assert (unreachable.received, unreachable.told) == (0, "ping: sendto: Network is unreachable")


def test_what_ping_cannot_do_was_not_tried() -> None:
    found = tried("busybox-1.35--lab")
    assert found.untried["mtu"] == "c1: its ping does not do that (ping: invalid option -- 'M')"
    assert str(WHOLE) not in {ping.target_ip for ping in found.pings}


def test_names_and_addresses_are_those_that_the_node_knows() -> None:
    found = tried("iputils-20221126--lab")
    assert found.lookups == [KNOWN, UNKNOWN]
    assert found.reverse_names == {"c1": ("c2", "c2-net1")}
    assert tried("busybox-1.35--lab").lookups[0] == KNOWN


def test_without_getent_no_name_was_tried() -> None:
    found = tried("busybox-1.35--bare")
    assert "no getent program" in found.untried["names"]
    assert (found.lookups, found.reverse_names) == ([], {"c1": ()})


def test_a_clock_without_nanoseconds_is_somewhere_in_its_second() -> None:
    (clock,) = tried("busybox-1.35--lab").clocks
    assert clock.high_s == 1795358640.0 - 1.0
    (exact,) = tried("iputils-20221126--lab").clocks
    assert exact.high_s == pytest.approx(1795358637.526662691 - 1.0)


def test_counters_are_read_before_and_after() -> None:
    (rise,) = tried("iputils-20221126--lab").rises
    assert (rise.node, rise.interface, rise.counter, rise.by) == ("c1", "eth0", "rx_dropped", 25)


def test_counters_of_ports_and_of_drivers_have_their_own_names() -> None:
    raw = (
        "== fabricgauge-trials 1\n== began\n10\n== ended\n12\n== before\n"
        "== after\n./mlx5_0/ports/1/counters/symbol_error:3\n"
        "./mlx5_0/ports/1/hw_counters/np_cnp_sent:4\n"
        "ethtool/enp1s0/rx_prio3_pause: 17\nethtool/enp1s0/rx_crc_errors_phy: 2\nnonsense\n== end\n"
    )
    assert read(raw).rises == [
        Rise("c1", "mlx5_0:1", "symbol_error", 3, 3.0),
        Rise("c1", "mlx5_0:1", "np_cnp_sent", 4, 3.0),
        Rise("c1", "enp1s0", "rx_prio3_pause", 17, 3.0),
        Rise("c1", "enp1s0", "rx_crc_errors_phy", 2, 3.0),
    ]


@pytest.mark.parametrize("text", ["", "sh: not found", "== fabricgauge-trials 1\n== before\n"])
def test_an_answer_fails_when_it_has_no_beginning_or_end(text: str) -> None:
    found = read(text)
    assert set(found.untried) == {"ping", "mtu", "names", "clocks", "counters"}
    assert all(why.startswith("c1: ") and "trials" in why for why in found.untried.values())
    assert found.pings == []


def test_a_line_of_a_tool_cannot_begin_a_section() -> None:
    raw = (
        "== fabricgauge-trials 1\n== name 1 0\n| == name 2 0\n| 10.0.0.1 evil\n"
        "== ping x y\n== ping 99999999999 0\n== \n== end\n"
    )
    found = read(raw, NodeTrial(TRIAL.echoes[:1], ("c2", "c3")))
    assert found.lookups == [Lookup("c1", "c2", ("10.0.0.1",))]
    assert found.pings == []


WHOLE_ANSWER = (FIXTURES / "iputils-20221126--lab.out").read_text()


@given(
    st.integers(0, len(WHOLE_ANSWER)), st.integers(0, 40),
    st.text(st.characters(codec="utf-8"), max_size=40),
)  # fmt: skip
def test_no_change_of_an_answer_makes_it_crash(place: int, cut: int, put: str) -> None:
    changed = WHOLE_ANSWER[:place] + put + WHOLE_ANSWER[place + cut :]
    assert all(0 <= one.received <= one.sent for one in read(changed).pings)


@given(st.text())
def test_no_text_makes_it_crash(text: str) -> None:
    raw = f"== fabricgauge-trials 1\n{text}\n== end\n"
    read(raw)
