"""Message size and window of a stream that has to be through within a given time."""

from fabricgauge.plan.cases import SMALLEST_WINDOW, WINDOW
from fabricgauge.plan.profiles import KIB

#: A smaller message no longer shows a link's rate: the latency has a large part in it.
SMALLEST_STREAM_BYTES = 64 * KIB


def stream(message_bytes: int, fit_bytes: float) -> tuple[int, int]:
    """The message size and window that send no more than ``fit_bytes`` at once.

    The window shrinks first, then the message; neither below its least.
    """
    while message_bytes > SMALLEST_STREAM_BYTES and message_bytes * SMALLEST_WINDOW > fit_bytes:
        message_bytes //= 2
    window = WINDOW
    while window > SMALLEST_WINDOW and window * message_bytes > fit_bytes:
        window //= 2
    return message_bytes, window
