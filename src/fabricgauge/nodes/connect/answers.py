"""Parse what one node's program printed into the failures of its connections; pure."""

from collections.abc import Mapping

import msgspec

from fabricgauge.model.connectivity import FailedConnection, How
from fabricgauge.model.errors import ProbeError

FORMAT, MAJOR_VERSION = "fabricgauge-connect", "1"

#: The failure of a connection that ended in a phase, if the kernel named no error.
_SILENT: Mapping[str, How] = {"connect": "no answer", "greeting": "no data", "data": "no data"}
_REFUSED, _TAKEN = "Connection refused", "Address already in use"


class _Line(msgspec.Struct):
    """The fields in use of any line of the program; a line's kind follows from those it has."""

    format: str = ""
    version: str = ""
    listening: str = ""
    to: int = -1
    source: str = ""
    target: str = ""
    phase: str = ""
    error: str = ""
    stranger: bool = False
    answered_by: int = 0
    end: bool = False


class Answer(msgspec.Struct, frozen=True):
    """One node's part: its own connections that failed, and how many it tried.

    ``port_taken``: the program could not listen on an address because its port is in use.
    """

    tried: int
    failures: tuple[FailedConnection, ...]
    port_taken: bool


def parse_answer(node: str, text: str, names: Mapping[int, str]) -> Answer:
    """Parse what the program of ``node`` printed; ``names`` are the nodes by their number.

    Raises:
        ProbeError: it is not this program's output, or it ends early.
    """
    try:
        filled = [line for line in text.splitlines() if line.strip()]
        lines = [msgspec.json.decode(line, type=_Line) for line in filled]
    except msgspec.MsgspecError as error:
        raise ProbeError(f"{node} answered with a line that is not understood: {error}") from error
    if not lines or lines[0].format != FORMAT or lines[0].version.split(".")[0] != MAJOR_VERSION:
        raise ProbeError(f"{node} did not answer as {FORMAT} {MAJOR_VERSION} does")
    if not lines[-1].end:
        raise ProbeError(f"{node} stopped before the connectivity round was over")
    attempts = [line for line in lines if line.to >= 0]
    failures = tuple(
        FailedConnection(
            node, names[line.to], line.source, line.target, how, line.error, _answerer(line, names)
        )
        for line in attempts
        if (how := _failure_kind(line)) is not None
    )
    port_taken = any(line.listening and line.error == _TAKEN for line in lines)
    return Answer(len(attempts), failures, port_taken)


def _failure_kind(line: _Line) -> How | None:
    """Return the kind of failure; None if all bytes arrived at the intended node."""
    if line.stranger or (line.phase != "connect" and line.answered_by not in (0, line.to)):
        return "other node"
    if line.phase == "done":
        return None
    if line.error == _REFUSED:
        return "refused"
    return "error" if line.error else _SILENT[line.phase]


def _answerer(line: _Line, names: Mapping[int, str]) -> str:
    if line.stranger:
        return "another program"
    return names.get(line.answered_by, "") if line.answered_by not in (0, line.to) else ""
