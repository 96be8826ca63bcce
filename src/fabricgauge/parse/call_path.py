"""Lines of the tracer of calls, and what the calls of a launch have in common."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from fabricgauge.model.call_path import CallPath, TracedCall

_LINE = msgspec.json.Decoder(TracedCall)


def traced_call(line: str) -> TracedCall | None:
    """The call that a line tells of; None for every other line, of whatever program."""
    try:
        return _LINE.decode(line)
    except msgspec.MsgspecError:
        return None


def call_path(calls: Sequence[TracedCall], about: CallPath) -> CallPath:
    """What the calls of the size of ``about`` have in common, put into it.

    The usual number of instructions is the most frequent one, of several the smallest; the usual
    call is the latest that has it, since its caches are as warm as they get. A call that was cut
    counts only where all were.
    """
    calls = [one for one in calls if one.message_bytes == about.message_bytes]
    every = [one for one in calls if one.number]
    warm = [one for one in every if not one.cut] or every
    counts = sorted(Counter(one.instructions for one in warm).items())
    usual = max(counts, key=lambda pair: (pair[1], -pair[0]), default=(0, 0))[0]
    return msgspec.structs.replace(
        about,
        calls=tuple(counts),
        usual=next((one for one in reversed(warm) if one.instructions == usual), None),
        cold=next((one for one in calls if not one.number), None),
    )
