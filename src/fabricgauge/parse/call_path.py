"""Lines of the tracer of calls, and what the calls of a launch have in common."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.model.call_path import CallPath, TracedCall


class _Other(msgspec.Struct, frozen=True, tag_field="record", tag="path_header"):
    format: str


class _Footer(msgspec.Struct, frozen=True, tag_field="record", tag="footer"):
    pass


_LINE = msgspec.json.Decoder(TracedCall | _Other | _Footer)


def traced_call(line: str) -> TracedCall | None:
    """The call that a line tells of; None for every other line, whoever printed it."""
    try:
        found = _LINE.decode(line)
    except msgspec.MsgspecError:
        return None
    return found if isinstance(found, TracedCall) else None


def call_path(calls: Sequence[TracedCall], about: CallPath) -> CallPath:
    """What the calls of one size have in common, put into ``about``.

    The usual number of instructions is the most frequent one, of several the smallest; the usual
    call is the latest that has it, since its caches are as warm as they get. A call that was cut
    counts only where all were.
    """
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


def by_size(calls: Iterable[TracedCall], message_bytes: int) -> tuple[TracedCall, ...]:
    return tuple(one for one in calls if one.message_bytes == message_bytes)
