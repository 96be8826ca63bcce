"""libibverbs' pingpong programs: half round trips, sizes by arithmetic, both ends by their GIDs."""

import pytest
from tests.logs.readers.reading import curves_of, found, raw, values

SUITE = "ibv_pingpong"


@pytest.mark.parametrize(("name", "benchmark", "size", "half_s", "pattern"), [
    ("44--rc-client", "ibv_rc_pingpong or ibv_uc_pingpong", 4096, 1565.12e-6 / 2, "latency"),
    ("44--rc-server", "ibv_rc_pingpong or ibv_uc_pingpong", 4096, 1635.02e-6 / 2, "latency"),
    ("44--uc-client", "ibv_rc_pingpong or ibv_uc_pingpong", 4096, 1489.52e-6 / 2, "latency"),
    ("44--uc-server", "ibv_rc_pingpong or ibv_uc_pingpong", 4096, 1614.82e-6 / 2, "latency"),
    ("44--ud-client", "ibv_ud_pingpong", 1024, 1144.30e-6 / 2, "latency"),
    ("44--ud-server", "ibv_ud_pingpong", 1024, 1231.88e-6 / 2, "latency"),
    ("44--srq-client", "ibv_srq_pingpong", 4096, 874.64e-6 / 2, None),
    ("44--srq-server", "ibv_srq_pingpong", 4096, 1138.12e-6 / 2, None),
])  # fmt: skip
def test_an_iteration_is_a_message_each_way(
    name: str, benchmark: str, size: int, half_s: float, pattern: str | None
) -> None:
    time, bandwidth = curves_of(SUITE, name)
    assert (time.benchmark, time.pattern, time.transport) == (benchmark, pattern, "rdma")
    assert values(time) == [(size, pytest.approx(half_s))]
    assert time.points[0].estimate.samples == 50
    # Printed to two decimals, as the time is.
    assert values(bandwidth) == [(size, pytest.approx(size / half_s, rel=1e-3))]
    assert (bandwidth.quantity, bandwidth.pattern) == ("bandwidth", None)
    assert len(set(time.hosts)) == len(time.evidence.verbs_ends) == 2


def test_a_command_names_its_program() -> None:
    text = b"$ ibv_uc_pingpong -g 1 c1\n" + raw(SUITE, "44--uc-client")
    curves, strange = found(text + b"$ ibv_rc_pingpong -g 1 c1\n" + raw(SUITE, "44--rc-client"))
    assert strange == []
    assert [one.benchmark for one in curves[::2]] == ["ibv_uc_pingpong", "ibv_rc_pingpong"]


def test_without_addresses_it_may_be_the_program_that_has_several_messages_under_way() -> None:
    curves, _ = found(b"\n".join(raw(SUITE, "44--rc-client").split(b"\n")[2:]))
    assert [one.pattern for one in curves] == [None, None]


def test_one_port_that_talks_to_itself_is_seen() -> None:
    text = raw(SUITE, "44--rc-client").replace(b"::ffff:10.8.0.2", b"::ffff:10.8.0.1")
    assert found(text)[0][0].evidence.same_end_reason


def test_two_tests_in_turn_are_two() -> None:
    curves, strange = found(raw(SUITE, "44--rc-client") + raw(SUITE, "44--ud-client"))
    assert strange == []
    assert [one.points[0].message_bytes for one in curves] == [4096, 4096, 1024, 1024]


def test_a_test_that_broke_off_has_no_figure() -> None:
    (curve,) = found(raw(SUITE, "44--rc-client").partition(b"50 iters")[0])[0]
    assert (curve.points, bool(curve.cut_off)) == ((), True)


def test_xsrq_prints_no_times() -> None:
    curves, (line,) = found(raw(SUITE, "xsrq"))
    assert (curves, line.line) == ([], 4)
