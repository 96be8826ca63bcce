"""The smallest input that still shows the same fault."""

from collections.abc import Callable


def smallest(content: bytes, shows: Callable[[bytes], bool], most_tries: int = 2000) -> bytes:
    """Take away lines, then bytes, as long as ``shows`` stays true."""
    left = [most_tries]

    def still(shorter: bytes) -> bool:
        left[0] -= 1
        return left[0] >= 0 and shows(shorter)

    lines = _without(content.splitlines(keepends=True), lambda some: still(b"".join(some)))
    single = _without([bytes([byte]) for byte in b"".join(lines)], lambda x: still(b"".join(x)))
    return b"".join(single)


def _without(parts: list[bytes], still: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Leave out ever smaller runs of parts (as delta debugging does)."""
    length = max(1, len(parts) // 2)
    while True:
        place = 0
        while place < len(parts):
            shorter = parts[:place] + parts[place + length :]
            if still(shorter):
                parts = shorter
            else:
                place += length
        if length == 1:
            return parts
        length //= 2
