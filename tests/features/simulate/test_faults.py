"""Faults as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.simulate.faults import parse_fault
from fabricgauge.model.errors import UsageError
from fabricgauge.model.simulation import BOTH, Way

#: Text; kind, names, figures, ways, number of the one uplink.
READ: tuple[
    tuple[str, str, tuple[str, ...], tuple[float, ...], tuple[Way, ...], int | None], ...
] = (
    ("rate node-7 0.25", "rate", ("node-7",), (0.25,), BOTH, None),
    ("rate-out node-7 0.5", "rate", ("node-7",), (0.5,), ("out",), None),
    ("rate-in node-7 0.5", "rate", ("node-7",), (0.5,), ("in",), None),
    ("latency node-7 +400ns", "latency", ("node-7",), (400e-9,), BOTH, None),
    ("latency-in node-7 1.5us", "latency", ("node-7",), (1.5e-6,), ("in",), None),
    ("uplink leaf-2 0.5", "uplink", ("leaf-2",), (0.5,), BOTH, None),
    ("uplink-out leaf-2/3 0.5", "uplink", ("leaf-2",), (0.5,), ("out",), 3),
    ("pair node-1 node-2 0.9", "pair", ("node-1", "node-2"), (0.9,), (), None),
    ("noise node-3 0.2", "noise", ("node-3",), (0.2,), (), None),
    ("flap node-5 0.1", "flap", ("node-5",), (0.1, 1e-3, 0.5), (), None),
    ("flap node-5 0.1 2ms", "flap", ("node-5",), (0.1, 2e-3, 0.5), (), None),
    ("flap node-5 0.1 2ms 0.25", "flap", ("node-5",), (0.1, 2e-3, 0.25), (), None),
)


@pytest.mark.parametrize(("text", "kind", "names", "figures", "ways", "uplink"), READ)
def test_each_form_is_read(
    text: str, kind: str, names: tuple[str, ...], figures: tuple[float, ...],
    ways: tuple[Way, ...], uplink: int | None,
) -> None:  # fmt: skip
    fault = parse_fault(text)
    assert (fault.kind, fault.names, fault.figures) == (kind, names, figures)
    assert (fault.ways, fault.uplink, str(fault)) == (ways, uplink, text)


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
    assert all(not set(node) & set(" \n\t") for node in fault.nodes)
