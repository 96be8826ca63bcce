"""Read the tracer's lines about calls, and summarise the calls of one launch."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from fabricgauge.features.path.values import CallPath, TracedCall

_LINE = msgspec.json.Decoder(TracedCall)


def traced_call(line: str) -> TracedCall | None:
    """Return the call that a line reports; None for any other line."""
    try:
        return _LINE.decode(line)
    except msgspec.MsgspecError:
        return None


def call_path(calls: Sequence[TracedCall], about: CallPath) -> CallPath:
    """Return ``about`` with a summary of the calls of its message size.

    The usual number of instructions is the most frequent one, of several the smallest; the usual
    call is the latest that has it, since its caches are as warm as they get. A call that was cut
    counts only where all were.
    """
    calls = [call for call in calls if call.message_bytes == about.message_bytes]
    timed_calls = [call for call in calls if call.number]
    warm = [call for call in timed_calls if not call.cut] or timed_calls
    counts = sorted(Counter(call.instructions for call in warm).items())
    usual = max(counts, key=lambda pair: (pair[1], -pair[0]), default=(0, 0))[0]
    return msgspec.structs.replace(
        about,
        calls=tuple(counts),
        usual=next((call for call in reversed(warm) if call.instructions == usual), None),
        cold=next((call for call in calls if not call.number), None),
    )
