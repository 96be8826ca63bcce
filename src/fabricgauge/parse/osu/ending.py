"""How to tell that a table was cut off: the suite prints nothing at a table's end."""

from fabricgauge.parse.osu.titles import Benchmark


def sign_of_end(last_bytes: int | None, rows: int, benchmark: Benchmark) -> str:
    """The sign that a table was cut off, empty if there is none.

    A run with fewer sizes than the default looks the same, which the sign says.
    """
    if not rows:
        return "no row follows the heading"
    wanted = benchmark.last_bytes
    if wanted is None or last_bytes is None or last_bytes >= wanted:
        return ""
    return (
        f"ends at {last_bytes} bytes, where the suite's default goes on to {wanted}: "
        "cut off, or run with a smaller maximum"
    )
