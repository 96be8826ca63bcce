"""Message size and window of a stream that has to be through within a given time."""

from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.plan.cases import SMALLEST_WINDOW, WINDOW


def stream(message_bytes: int, fit_bytes: float) -> tuple[int, int]:
    """The message size and window that send no more than ``fit_bytes`` at once.

    The window shrinks first, then the message; neither below its least.
    """
    while message_bytes > SUSTAINED_BYTES and message_bytes * SMALLEST_WINDOW > fit_bytes:
        message_bytes //= 2
    window = WINDOW
    while window > SMALLEST_WINDOW and window * message_bytes > fit_bytes:
        window //= 2
    return message_bytes, window
