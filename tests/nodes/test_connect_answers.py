"""What the program of the connectivity round prints → failures."""

import json
from collections.abc import Mapping

import pytest

from fabricgauge.model.errors import ProbeError
from fabricgauge.nodes.connectivity import parse_answer

NAMES = {1: "c1", 2: "c2", 3: "c3"}
BEGIN = {"format": "fabricgauge-connect", "version": "1.0", "node": 1}
DONE = {"to": 2, "source": "10.0.0.1", "target": "10.0.0.2", "phase": "done", "answered_by": 2}


def said(*lines: Mapping[str, object], end: bool = True) -> str:
    return "\n".join(json.dumps(one) for one in (BEGIN, *lines, *([{"end": True}] if end else [])))


@pytest.mark.parametrize(
    ("changed", "how", "by"),
    [
        ({"phase": "connect", "answered_by": 0}, "no answer", ""),
        ({"phase": "connect", "answered_by": 0, "error": "Connection refused"}, "refused", ""),
        ({"phase": "connect", "answered_by": 0, "error": "No route to host"}, "error", ""),
        ({"phase": "data"}, "no data", ""),
        ({"phase": "greeting", "answered_by": 0}, "no data", ""),
        ({"answered_by": 3}, "other node", "c3"),
        ({"phase": "greeting", "stranger": True}, "other node", "another program"),
    ],
)
def test_each_way_to_fail_is_told(changed: dict[str, object], how: str, by: str) -> None:
    (failure,) = parse_answer("c1", said(DONE | changed), NAMES).failures
    assert (failure.source, failure.target, failure.how, failure.answered_by) == (
        "c1",
        "c2",
        how,
        by,
    )


def test_connections_that_worked_are_counted_and_are_no_failures() -> None:
    answer = parse_answer("c1", said(DONE, DONE | {"to": 3, "answered_by": 3}), NAMES)
    assert (answer.tried, answer.failures) == (2, ())


def test_a_port_in_use_is_told() -> None:
    taken = {"listening": "10.0.0.1", "error": "Address already in use"}
    assert parse_answer("c1", said(taken), NAMES).port_taken


@pytest.mark.parametrize(
    "text", ["", "sh: not found", said(DONE, end=False), said(DONE)[:-20], '{"format": "other"}']
)
def test_an_answer_that_is_none_or_breaks_off_is_refused(text: str) -> None:
    with pytest.raises(ProbeError, match="c1"):
        parse_answer("c1", text, NAMES)


def test_a_round_that_others_played_is_read_as_our_own() -> None:
    from fabricgauge.nodes.connectivity import gather_round

    said = {"c1": "", "c2": ""}
    of = gather_round("net1", {1: "c1", 2: "c2"}, said)
    assert of.network == "net1"
    assert set(of.silent) == {"c1", "c2"}
    assert of.failures == ()
