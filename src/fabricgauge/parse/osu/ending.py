"""How to tell that a table was cut off: the suite prints nothing at a table's end."""

from fabricgauge.parse.osu.titles import Benchmark

#: Instead of a message size: there is none, or none yet.
NO_SIZE = -1


def sign_of_end(last_bytes: int, rows: int, benchmark: Benchmark, until: int) -> str:
    """The sign that a table was cut off, empty if there is none.

    ``until`` is the last size of the same run's table before it, which all others reach; the
    first is compared with a default run. A run with fewer sizes looks the same as one that
    was cut off, which the sign says.
    """
    if not rows:
        return "no row follows the heading"
    wanted = benchmark.last_bytes if until == NO_SIZE else until
    if wanted is None or last_bytes == NO_SIZE or last_bytes >= wanted:
        return ""
    end = f"ends at {last_bytes} bytes, where"
    if until != NO_SIZE:
        return f"{end} the table before it goes on to {until}"
    return f"{end} the suite's default goes on to {wanted}: cut off, or run with a smaller maximum"
