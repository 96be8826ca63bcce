"""Faults as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.errors import UsageError
from fabricgauge.sim.faults import (
    AddedLatency,
    Fault,
    FlappingLink,
    NoisyNode,
    SlowLink,
    SlowPair,
    SlowUplink,
    nodes_of,
    parse_fault,
)

READ: tuple[tuple[str, Fault], ...] = (
    ("rate node-7 0.25", SlowLink("node-7", 0.25)),
    ("rate-out node-7 0.5", SlowLink("node-7", 0.5, ("out",))),
    ("rate-in node-7 0.5", SlowLink("node-7", 0.5, ("in",))),
    ("latency node-7 +400ns", AddedLatency("node-7", 400e-9)),
    ("latency-in node-7 1.5us", AddedLatency("node-7", 1.5e-6, ("in",))),
    ("uplink leaf-2 0.5", SlowUplink("leaf-2", 0.5)),
    ("uplink-out leaf-2/3 0.5", SlowUplink("leaf-2", 0.5, 3, ("out",))),
    ("pair node-1 node-2 0.9", SlowPair("node-1", "node-2", 0.9)),
    ("noise node-3 0.2", NoisyNode("node-3", 0.2)),
    ("flap node-5 0.1", FlappingLink("node-5", 0.1)),
    ("flap node-5 0.1 2ms", FlappingLink("node-5", 0.1, 2e-3)),
    ("flap node-5 0.1 2ms 0.25", FlappingLink("node-5", 0.1, 2e-3, 0.25)),
)


@pytest.mark.parametrize(("text", "fault"), READ)
def test_each_form_is_read(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "rate[-out|-in] NODE FACTOR"),
        ("rat node-1 0.5", "rate[-out|-in] NODE FACTOR"),
        ("noise-out node-1 0.5", "noise NODE DEVIATION"),
        ("rate node-1", "rate[-out|-in] NODE FACTOR"),
        ("rate node-1 1.0", "a factor between 0 and 1"),
        ("rate node-1 0", "a factor between 0 and 1"),
        ("rate node-1 nan", "a factor between 0 and 1"),
        ("rate node-1 25%", "a factor between 0 and 1"),
        ("latency node-1 400", "+400ns"),
        ("latency node-1 -400ns", "+400ns"),
        ("latency node-1 1e-400s", "+400ns"),
        ("uplink leaf-1/x 0.5", "'leaf-1/x' for a group"),
        ("pair node-1 node-1 0.5", "node-1 twice"),
        ("flap node-1 0.5 1ms 1.5", "a share between 0 and 1"),
    ],
)
def test_a_fault_fails_with_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_fault(text)
    assert expected in str(raised.value)
    assert repr(text) in str(raised.value)


_WORDS = st.sampled_from(
    ["rate", "rate-out", "latency-in", "uplink", "pair", "noise", "flap", "out", "-in", "node-1",
     "0.5", "-1", "inf", "+400ns", "µs", "1e999", "\x00", "²"]
)  # fmt: skip


@given(st.lists(_WORDS | st.text(max_size=8), max_size=6).map(" ".join))
def test_any_other_text_fails_with_a_usage_error(text: str) -> None:
    try:
        fault = parse_fault(text)
    except UsageError:
        return
    assert all(not set(node) & set(" \n\t") for node in nodes_of(fault))
