"""What is known of a ucx_perftest run beside its figures: the server's box, the command.

ucx_perftest's tests: names, the words in which its box describes them, what they measure.
"""

import re
from typing import Literal

import msgspec

from fabricgauge.model.measurement import Pattern
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.table import SuiteHeading

_OPERATIONS = "bytes of all operations per time"
_WHAT = {
    "ping-pong": ("half round trip", "ping-pong bandwidth (size / half round trip)"),
    "stream": ("sender's time per message", "one-way stream"),
    "operation": ("one operation, as its origin sees it", _OPERATIONS),
    "": ("time per message or operation: the log does not name the test", _OPERATIONS),
}


class UcxTest(msgspec.Struct, frozen=True):
    """``kind`` is ``ping-pong``, ``stream``, ``operation`` (get, atomics), or not known."""

    name: str
    kind: str
    latency_pattern: Pattern | None = None
    bandwidth_pattern: Pattern | None = None

    @property
    def what(self) -> tuple[str, str]:
        """What its times and its rates are."""
        return _WHAT[self.kind]


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


BOX = re.compile(r"\| (?P<name>[A-Z][\w ]{2,30}): +(?P<value>[^|]{0,60}?) *\|")
_SIZE = re.compile(r"\s-s\s*(\d{1,15})(?=\s|$)")
_TRANSPORT = re.compile(r"\s-x\s*(\w+)")
_VERBS = re.compile(r"(?:rc|ud|dc)(?:_|$)")
_MOST_SETTINGS = 32


class UcxRun(msgspec.Struct, frozen=True):
    """``announced`` is the box's first line; ``batch`` names a test of a batch file.

    ``overhead`` is whether the heading calls its times that, and not latency.
    """

    box: dict[str, str] = {}
    announced: LogLine | None = None
    command: str = ""
    batch: str = ""
    overhead: bool = False

    def with_box(self, text: str) -> "UcxRun | None":
        """With one more line of the box; None if the line is none."""
        match = BOX.match(text)
        if match is None or len(self.box) >= _MOST_SETTINGS:
            return None
        return msgspec.structs.replace(
            self, box={**self.box, match["name"]: match["value"].strip()}
        )

    @property
    def test(self) -> UcxTest:
        by_box = described(self.box.get("Test", ""), self.box.get("API", ""))
        option = _OPTION.search(self.command)
        names = (option[1] if option else "", self.batch.split("/")[0])
        by_name = (_BY_NAME.get(name, UNNAMED) for name in names)
        told = (test for test in (by_box, *by_name) if test != UNNAMED)
        return next(told, UNNAMED_STREAM if self.overhead else UNNAMED)

    @property
    def message_bytes(self) -> int | None:
        option = _SIZE.search(self.command)
        size = self.box.get("Message size") or (option[1] if option else "")
        return int(size) if size.isascii() and size.isdigit() and len(size) < 16 else None

    def heading(self, first_line: int) -> SuiteHeading:
        settings = {name.lower(): value for name, value in self.box.items() if value}
        told = {"command": self.command, "batch": self.batch}
        settings.update({key: value for key, value in told.items() if value})
        return SuiteHeading(
            suite="ucx_perftest", version="", benchmark=self.test.name,
            title=self.box.get("Test", ""), first_line=first_line,
            transport=_transport(self.command), settings=settings,
        )  # fmt: skip


def _transport(command: str) -> Literal["tcp", "rdma", ""]:
    option = _TRANSPORT.search(command)
    name = option[1] if option else ""
    if name == "tcp":
        return "tcp"
    return "rdma" if _VERBS.match(name) else ""
