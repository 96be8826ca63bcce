"""iperf3: TCP streams from one process to one other.

Options: iperf3(1) of 3.12. ``-1``: the server serves one test; ``-O``: the first second,
in which the window opens, does not count.
"""

from fabricgauge.model.plan import BACK
from fabricgauge.run.tools.interface import CLIENT, SERVER, Effort, Start, Tool

#: Not iperf3's own 5201, which another server may have.
PORT = 52010


def starts(effort: Effort) -> tuple[Start, ...]:
    """One stream each way, both ways at once, and as many streams as were asked for."""
    return (
        _start(effort, "one stream"),
        _start(effort, f"one stream{BACK}", "-R"),
        _start(effort, f"{effort.streams} streams", "-P", str(effort.streams)),
        _start(effort, "both directions", "--bidir"),
    )


def _start(effort: Effort, name: str, *options: str) -> Start:
    port = ("-p", str(PORT))
    seconds = ("-t", str(effort.stream_s), "-O", "1", "--connect-timeout", "5000")
    return Start(
        name=f"iperf3, {name}",
        client=("iperf3", "-c", SERVER, "-B", CLIENT, *port, "-J", *seconds, *options),
        server=("iperf3", "-s", "-1", "-B", SERVER, *port),
        port=PORT,
        least_s=effort.stream_s + 1.0,
    )


TOOL = Tool("iperf3", "pair", ("iperf3",), (), starts, "iperf3", polls=False)
