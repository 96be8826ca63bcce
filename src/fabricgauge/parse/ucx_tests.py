"""What is known of a ucx_perftest run beside its figures: the server's box, the command.

ucx_perftest's tests: names, the words in which its box describes them, what they measure.
"""

import re
from typing import NamedTuple

from fabricgauge.model.measurement import Pattern
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.table import SuiteHeading

_OPERATIONS = "bytes of all operations per time"
#: What times and rates of each kind of test are.
WHAT = {
    "ping-pong": ("half round trip", "ping-pong bandwidth (size / half round trip)"),
    "stream": ("sender's time per message", "one-way stream"),
    "operation": ("one operation, as its origin sees it", _OPERATIONS),
    "": ("time per message or operation: the log does not name the test", _OPERATIONS),
}


class UcxTest(NamedTuple):
    """``kind`` is ``ping-pong``, ``stream``, ``operation`` (get, atomics), or not known."""

    name: str
    kind: str
    latency_pattern: Pattern | None = None
    bandwidth_pattern: Pattern | None = None


#: The test of a log that does not name it.
UNNAMED = UcxTest("ucx_perftest", "")
#: The same under a heading that says ``overhead``, which only streams have.
UNNAMED_STREAM = UcxTest("ucx_perftest", "stream")

#: Name and, for each API, the description (UCX v1.9 and later leave out ``UCP``).
_TESTS: tuple[tuple[UcxTest, str, str], ...] = (
    (UcxTest("am_lat", "ping-pong", "latency"), "UCT", "active message latency"),
    (UcxTest("put_lat", "ping-pong", "latency"), "UCT", "put latency"),
    (UcxTest("add_lat", "ping-pong"), "UCT", "atomic add latency"),
    (UcxTest("get", "operation"), "UCT", "get latency / bandwidth / message rate"),
    (UcxTest("fadd", "operation"), "UCT", "atomic fetch-and-add latency"),
    (UcxTest("swap", "operation"), "UCT", "atomic swap latency"),
    (UcxTest("cswap", "operation"), "UCT", "atomic compare-and-swap latency"),
    (UcxTest("am_bw", "stream", None, "bandwidth"), "UCT", "active message bandwidth"),
    (UcxTest("put_bw", "stream", None, "put_bandwidth"), "UCT", "put bandwidth"),
    (UcxTest("get_bw", "stream"), "UCT", "get bandwidth"),
    (UcxTest("add_mr", "stream"), "UCT", "atomic add message rate"),
    (UcxTest("tag_lat", "ping-pong", "latency"), "UCP", "tag match latency"),
    (UcxTest("tag_bw", "stream", None, "bandwidth"), "UCP", "tag match bandwidth"),
    (UcxTest("tag_sync_lat", "ping-pong", "latency"), "UCP", "tag sync match latency"),
    (UcxTest("tag_sync_bw", "stream", None, "bandwidth"), "UCP", "tag sync match bandwidth"),
    (UcxTest("ucp_put_lat", "ping-pong", "latency"), "UCP", "put latency"),
    (UcxTest("ucp_put_bw", "stream", None, "put_bandwidth"), "UCP", "put bandwidth"),
    (UcxTest("ucp_get", "operation"), "UCP", "get latency / bandwidth / message rate"),
    (UcxTest("ucp_add", "stream"), "UCP", "atomic add bandwidth"),
    (UcxTest("ucp_fadd", "operation"), "UCP", "atomic fetch-and-add latency"),
    (UcxTest("ucp_swap", "operation"), "UCP", "atomic swap latency"),
    (UcxTest("ucp_cswap", "operation"), "UCP", "atomic compare-and-swap latency"),
    (UcxTest("stream_bw", "stream", None, "bandwidth"), "UCP", "stream bandwidth"),
    (UcxTest("stream_lat", "ping-pong", "latency"), "UCP", "stream latency"),
    (UcxTest("ucp_am_lat", "ping-pong", "latency"), "UCP", "am latency"),
    (UcxTest("ucp_am_bw", "stream", None, "bandwidth"), "UCP", "am bandwidth"),
)
_BY_NAME = {test.name: test for test, _, _ in _TESTS}
_OPTION = re.compile(r"\s-t\s*(\w+)")


def described(description: str, api: str) -> UcxTest:
    """The test that a box describes under a layer (``protocol layer``, ``transport layer``)."""
    layer = "UCT" if "transport" in api else "UCP"
    words = description.removeprefix("UCP ").strip()
    fitting = (test for test, of, begin in _TESTS if of == layer and words.startswith(begin))
    return next(fitting, UNNAMED)


_BOX = re.compile(r"\| (?P<name>[A-Z][\w ]{2,30}): +(?P<value>[^|]{0,60}?) *\|")
_SIZE = re.compile(r"\s-s\s*(\d{1,15})(?=\s|$)")
_TRANSPORT = re.compile(r"\s-x\s*(?:(?P<tcp>tcp)(?!\w)|(?P<verbs>(?:rc|ud|dc)(?:_|\b)))")
_MOST_SETTINGS = 32


class UcxRun:
    """One run: its command line, and the box that a server draws, from its ``announced`` line on.

    ``batch`` names a test of a batch file; ``overhead`` is whether the heading calls its times
    that, and not latency.
    """

    def __init__(self, command: str = "", announced: LogLine | None = None) -> None:
        self.command = command
        self.announced = announced
        self.batch = ""
        self.overhead = False
        self._box: dict[str, str] = {}

    def learn(self, text: str) -> bool:
        """Take one more line of the box; false if the line is none."""
        match = _BOX.match(text)
        if match is None or len(self._box) >= _MOST_SETTINGS:
            return False
        self._box[match["name"]] = match["value"].strip()
        return True

    def test(self, batch: str) -> UcxTest:
        by_box = described(self._box.get("Test", ""), self._box.get("API", ""))
        option = _OPTION.search(self.command)
        names = (option[1] if option else "", batch.split("/")[0])
        told = (by_box, *(_BY_NAME.get(name, UNNAMED) for name in names))
        unnamed = UNNAMED_STREAM if self.overhead else UNNAMED
        return next((test for test in told if test != UNNAMED), unnamed)

    @property
    def message_bytes(self) -> int | None:
        option = _SIZE.search(self.command)
        size = self._box.get("Message size") or (option[1] if option else "")
        return int(size) if size.isascii() and size.isdigit() and len(size) < 16 else None

    def heading(self, test: UcxTest, batch: str, first_line: int) -> SuiteHeading:
        settings = {name.lower(): value for name, value in self._box.items()}
        settings |= {"command": self.command, "batch": batch}
        by = _TRANSPORT.search(self.command)
        return SuiteHeading(
            "ucx_perftest", "", test.name, self._box.get("Test", ""), first_line,
            transport="" if by is None else "tcp" if by["tcp"] else "rdma",
            settings={key: value for key, value in settings.items() if value},
        )  # fmt: skip
