"""What trials.sh printed with several systems' tools, whole, cut off and broken."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.discover.parse_trials import Moment, PingResult, TrialAnswer, parse_trials
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError

FIXTURES = Path(__file__).parents[1] / "fixtures/trials"
SMALL, WHOLE, LARGE, TOO_LARGE, NOBODY, NOT_OURS, NO_ROUTE = range(7)
NAME, UNKNOWN, ADDRESS, FREE = 7, 8, 9, 10
COUNTS = dict.fromkeys(range(7), 2)


def tried(name: str) -> TrialAnswer:
    return parse_trials("c1", (FIXTURES / f"{name}.out").read_text(), COUNTS)


def echoed(found: TrialAnswer, number: int) -> PingResult:
    one = found.echoes[number]
    assert isinstance(one, PingResult)
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
    whole = tried("busybox-1.35--lab").echoes[WHOLE]
    assert whole == Skipped("its ping does not do that (ping: invalid option -- 'M')")


def test_names_and_addresses_are_those_that_the_node_knows() -> None:
    found = tried("iputils-20221126--lab")
    assert (found.names[NAME], found.names[UNKNOWN]) == (("10.77.0.12",), ())
    assert (found.called[ADDRESS], found.called[FREE]) == (("c2", "c2-net1"), ())
    assert found.names[NAME] == tried("busybox-1.35--lab").names[NAME]


def test_without_getent_no_name_was_tried() -> None:
    found = tried("busybox-1.35--bare")
    assert found.names[NAME] == Skipped("there is no getent program")
    assert found.called[ADDRESS] == ()


def test_a_clock_without_nanoseconds_is_somewhere_in_its_second() -> None:
    assert tried("busybox-1.35--lab").began == Moment(1795358639.0, 1795358640.0)
    exact = tried("iputils-20221126--lab").began
    assert isinstance(exact, Moment)
    assert exact.least_s == exact.most_s == pytest.approx(1795358637.526662691)


def test_counters_are_read_before_and_after() -> None:
    found = tried("iputils-20221126--lab")
    assert found.before == {("eth0", "rx_dropped"): 12}
    assert found.after == {("eth0", "rx_dropped"): 37}


def test_counters_of_ports_and_of_drivers_have_their_own_names() -> None:
    raw = (
        "== fabricgauge-trials 1\n== before\n./mlx5_0/ports/1/counters/symbol_error:3\n"
        "ethtool/enp1s0/rx_prio3_pause: 17\nethtool/enp1s0/rx_crc_errors_phy: 2\nnonsense\n== end\n"
    )
    assert parse_trials("c1", raw).before == {
        ("mlx5_0:1", "symbol_error"): 3,
        ("enp1s0", "rx_prio3_pause"): 17,
        ("enp1s0", "rx_crc_errors_phy"): 2,
    }


@pytest.mark.parametrize("text", ["", "sh: not found", "== fabricgauge-trials 1\n== before\n"])
def test_an_answer_fails_when_it_has_no_beginning_or_end(text: str) -> None:
    with pytest.raises(ProbeError, match="c1: what its trials came to"):
        parse_trials("c1", text)


def test_a_line_of_a_tool_cannot_begin_a_section() -> None:
    raw = (
        "== fabricgauge-trials 1\n== name 0 0\n| == name 1 0\n| 10.0.0.1 evil\n"
        "== ping x y\n== ping 99999999999 0\n== \n== end\n"
    )
    found = parse_trials("c1", raw)
    assert found.names == {0: ("10.0.0.1",)}
    assert found.echoes == {}


WHOLE_ANSWER = (FIXTURES / "iputils-20221126--lab.out").read_text()


@given(
    st.integers(0, len(WHOLE_ANSWER)), st.integers(0, 40),
    st.text(st.characters(codec="utf-8"), max_size=40),
)  # fmt: skip
def test_no_change_of_an_answer_makes_it_crash(place: int, cut: int, put: str) -> None:
    changed = WHOLE_ANSWER[:place] + put + WHOLE_ANSWER[place + cut :]
    try:
        found = parse_trials("c1", changed, COUNTS)
    except ProbeError:
        return
    for one in found.echoes.values():
        assert isinstance(one, Skipped) or 0 <= one.received <= one.sent


@given(st.text())
def test_no_text_makes_it_crash(text: str) -> None:
    raw = f"== fabricgauge-trials 1\n{text}\n== end\n"
    parse_trials("c1", raw)
