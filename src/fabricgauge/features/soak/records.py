"""The records of ``fabricgauge-engine-soak``: one for each rank and interval."""

import msgspec

#: Begin of a message in seconds since 1970 (UTC), its time, and the time that the sending and the
#: receiving process did not run meanwhile.
SlowMessage = tuple[float, float, float, float]


class SoakRecord(msgspec.Struct, frozen=True, tag_field="record", tag="soak"):
    """Hold the messages of a rank in one interval; times are in seconds.

    ``usual_s`` is the median of the last intervals, 0 in the first. ``slow`` lists at most 64 of
    the ``slow_messages``. ``waiting_s`` is how long the message under way has taken so far,
    ``unheard_s`` how long nothing has come from the previous rank, ``stopped_s`` how long the
    process did not run. ``rises`` are the increases of the node's counters, by interface.
    """

    rank: int
    to: int
    at_s: float
    messages: int
    median_s: float
    worst_s: float
    usual_s: float
    slow_messages: int
    slow: tuple[SlowMessage, ...]
    ping_messages: int
    ping_median_s: float
    ping_worst_s: float
    ping_usual_s: float
    ping_slow_messages: int
    ping_slow: tuple[SlowMessage, ...]
    waiting_s: float
    ping_waiting_s: float
    unheard_s: float
    stopped_s: float
    rises: dict[str, dict[str, int]] = {}
    port_rises: dict[str, dict[str, int]] = {}
    retransmitted_segments: int = 0


_DECODER = msgspec.json.Decoder(SoakRecord)


def parse_record(line: str) -> SoakRecord | None:
    """Return a line's record; None if the line is none, as an MPI's own messages are."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
