"""Lines of the tracer, and what the calls of a launch have in common."""

import json

from fabricgauge.features.path.recording import call_path, traced_call
from fabricgauge.features.path.values import CallPath

USES = dict.fromkeys(
    ("load", "store", "load_store", "code", "code_load", "code_store", "code_load_store"), 0
)


def line(number: int, instructions: int, **other: object) -> str:
    said: dict[str, object] = {
        "record": "traced_call", "operation": "send", "message_bytes": 4, "number": number,
        "instructions": instructions, "polled": 0, "poll_rounds": 0, "cut": False, "signals": 0,
        "calls": 1, "branches": 2, "locked": 0, "lines": {**USES, "code": 3, "load": 2},
        "new_lines": 1, "pages": USES, "system_calls": {},
        "objects": [{"object": "libmpi.so.12", "instructions": instructions, "lines": 5}],
        "functions": [{"object": "libmpi.so.12", "function": "MPI_Send",
                       "instructions": instructions, "lines": 5}],
        "segments": [[0, instructions]], **other,
    }  # fmt: skip
    return json.dumps(said)


def path_of(*lines: str) -> CallPath:
    calls = [call for one in lines if (call := traced_call(one)) is not None]
    return call_path(calls, CallPath("send", 4, 2, "node"))


def test_a_line_of_another_kind_is_no_call() -> None:
    for text in ("", "{", '{"record":"footer"}', "BAD TERMINATION", line(1, 4).replace("4", "x")):
        assert traced_call(text) is None


def test_the_usual_number_is_the_most_frequent_and_of_several_the_smallest() -> None:
    path = path_of(*(line(n, i) for n, i in enumerate((900, 410, 403, 403, 410), 0)))
    assert path.calls == ((403, 2), (410, 2))
    assert path.usual is not None
    assert (path.usual.instructions, path.usual.number) == (403, 3)
    assert path.cold is not None
    assert path.cold.instructions == 900


def test_a_call_that_was_cut_counts_only_where_all_were() -> None:
    cut = line(1, 300_000, cut=True)
    assert path_of(cut, line(2, 403)).calls == ((403, 1),)
    only = path_of(cut)
    assert only.calls == ((300_000, 1),)
    assert only.usual is not None
    assert only.usual.cut


def test_without_a_warm_call_there_is_no_usual_one() -> None:
    assert path_of(line(0, 900)).usual is None
