"""A buffer or a window of TCP that holds a stream back is the cause, with the setting's value."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge.test_fraction import Change, at

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

WMEM, RMEM = "net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"
USUAL = {
    WMEM: "4096 16384 4194304",
    RMEM: "4096 131072 6291456",
    "net.ipv4.tcp_window_scaling": "1",
}


def held(
    receiver: float = 0.0, sender: float = 0.0, rtt_s: float = 2e-4, busy: float = 0.98
) -> Change:
    """Each connection with these shares of the time with data under way."""

    def change(measurement: Measurement) -> Measurement:
        busy_s = busy * measurement.wall_s
        sockets = tuple(
            tuple(
                msgspec.structs.replace(
                    one, busy_s=busy_s, rwnd_limited_s=receiver * busy_s,
                    sndbuf_limited_s=sender * busy_s, rtt_s=rtt_s,
                )
                for one in measurement.sockets_of(rank)
            )
            for rank in range(len(measurement.sockets))
        )  # fmt: skip
        return msgspec.structs.replace(measurement, sockets=sockets)

    return change


def with_facts(run: Run, first: dict[str, str], second: dict[str, str]) -> Run:
    nodes = tuple(
        msgspec.structs.replace(node, facts={**USUAL, **facts})
        for node, facts in zip(run.fabric.nodes, (first, second), strict=True)
    )
    return msgspec.structs.replace(run, fabric=msgspec.structs.replace(run.fabric, nodes=nodes))


def low(run: Run) -> list[Verdict]:
    given = planted.by_rule(planted.verdicts(run), "fraction")
    return [one for one in given if one.about.series == "bandwidth"]


@pytest.mark.parametrize(
    ("change", "first", "second", "words"),
    [
        (held(sender=0.9), {WMEM: "4096 16384 16384"}, {}, ("tcp_wmem of c1", "16 KiB")),
        (held(busy=0.5), {WMEM: "4096 16384 32768"}, {}, ("tcp_wmem of c1", "32 KiB")),
        (held(receiver=0.97), {}, {RMEM: "4096 16384 32768"}, ("tcp_rmem of c2", "32 KiB")),
        (held(receiver=0.99, rtt_s=3e-5), {}, {}, ("receive window of c2", "SO_RCVBUF")),
        (held(receiver=0.99, rtt_s=3e-5), {}, {"net.ipv4.tcp_window_scaling": "0"},
         ("receive window of c2", "64 KiB")),
        (held(sender=0.99), {}, {}, ("send buffer of c1", "SO_SNDBUF")),
    ],
)  # fmt: skip
def test_a_limit_of_tcp_is_named_with_its_node_and_value(
    change: Change, first: dict[str, str], second: dict[str, str], words: tuple[str, ...]
) -> None:
    way = next(
        one for one in low(with_facts(at(0.54, change), first, second))
        if one.about.names == ("c1", "c2")
    )  # fmt: skip
    assert way.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)
    assert all(word in way.cause for word in words), way.cause


@pytest.mark.parametrize(
    ("change", "first", "second"),
    [
        # A slow link queues: its round trip is longer than the window accounts for.
        (held(receiver=0.97, rtt_s=12e-3), {}, {}),
        (held(), {}, {}),
        # A small buffer that was never the limit.
        (held(), {WMEM: "4096 16384 65536"}, {}),
        (held(receiver=0.1), {}, {RMEM: "4096 16384 65536"}),
        (held(receiver=0.2), {WMEM: "strange"}, {RMEM: "1 2"}),
    ],
)
def test_what_was_not_the_limit_is_no_cause(
    change: Change, first: dict[str, str], second: dict[str, str]
) -> None:
    for one in low(with_facts(at(0.3, change), first, second)):
        assert "tcp_" not in one.cause
        assert "window" not in one.cause


def test_a_stream_at_the_ceiling_has_no_cause() -> None:
    for one in low(with_facts(at(0.995, held(receiver=0.99)), {WMEM: "4096 16384 16384"}, {})):
        assert (one.outcome, one.cause) == (Outcome.PASS, "")
