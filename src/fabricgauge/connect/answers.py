"""What one node's program said → the failures of its connections; pure."""

from collections.abc import Mapping

import msgspec

from fabricgauge.model.connectivity import FailedConnection, How
from fabricgauge.model.errors import ProbeError

FORMAT, MAJOR_VERSION = "fabricgauge-connect", "1"

#: Why a connection got no further than its phase, where the kernel named no error.
_SILENT: Mapping[str, How] = {"connect": "no answer", "greeting": "no data", "data": "no data"}
_REFUSED, _TAKEN = "Connection refused", "Address already in use"


class _Line(msgspec.Struct):
    """What is used of any line of the program; which fields are there says which it is."""

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

    ``port_taken`` is whether an address could not be listened on since its port is in use.
    """

    tried: int
    failures: tuple[FailedConnection, ...]
    port_taken: bool


def parsed(node: str, text: str, names: Mapping[int, str]) -> Answer:
    """What the program of ``node`` printed; ``names`` are the nodes by their number.

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
    ours = [one for one in lines if one.to >= 0]
    failures = tuple(
        FailedConnection(
            node, names[one.to], one.source, one.target, how, one.error, _other(one, names)
        )
        for one in ours
        if (how := _how(one)) is not None
    )
    taken = any(one.listening and one.error == _TAKEN for one in lines)
    return Answer(len(ours), failures, taken)


def _how(one: _Line) -> How | None:
    """None where all bytes arrived at the node that was meant."""
    if one.stranger or (one.phase != "connect" and one.answered_by not in (0, one.to)):
        return "other node"
    if one.phase == "done":
        return None
    if one.error == _REFUSED:
        return "refused"
    return "error" if one.error else _SILENT[one.phase]


def _other(one: _Line, names: Mapping[int, str]) -> str:
    if one.stranger:
        return "another program"
    return names.get(one.answered_by, "") if one.answered_by not in (0, one.to) else ""
