"""NetPIPE over TCP: a ping-pong over message sizes.

Options: NPtcp(1) of 3.7.2. ``-p 0``: only the sizes themselves, not those three bytes
beside each; ``-n``: a fixed number of repeats instead of half a second for each size.
"""

from fabricgauge.run.tools.interface import SERVER, Effort, Start, Tool

#: NPtcp's own; 3.7.2 has an option for it, but its server ignores that.
PORT = 5002


def starts(effort: Effort) -> tuple[Start, ...]:
    sweep = ("-p", "0", "-u", str(effort.largest_bytes), "-n", str(effort.iterations))
    return (
        Start(
            name="NPtcp, ping-pong",
            client=("NPtcp", "-h", SERVER, *sweep, "-o", "/dev/null"),
            server=("NPtcp", *sweep),
            port=PORT,
            least_s=1.0,
        ),
    )


TOOL = Tool("netpipe", "pair", ("NPtcp",), (), starts, "netpipe-tcp", polls=False)
