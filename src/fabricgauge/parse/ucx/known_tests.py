"""ucx_perftest's tests: names, the words in which its box describes them, what they measure."""

import re

import msgspec

from fabricgauge.model.measurement import Pattern


class Test(msgspec.Struct, frozen=True):
    """One test. ``kind`` is ``ping-pong``, ``stream`` or ``operation`` (get and atomics)."""

    name: str
    kind: str
    latency_pattern: Pattern | None = None
    bandwidth_pattern: Pattern | None = None

    @property
    def time(self) -> str:
        if self.kind == "ping-pong":
            return "half round trip"
        if self.kind == "stream":
            return "sender's time per message"
        if self.kind == "operation":
            return "one operation, as its origin sees it"
        return "time per message or operation: the log does not name the test"

    @property
    def bandwidth(self) -> str:
        if self.kind == "ping-pong":
            return "ping-pong bandwidth (size / half round trip)"
        return "one-way stream" if self.kind == "stream" else "bytes of all operations per time"

    @property
    def from_target(self) -> bool:
        return self.name in ("get", "get_bw", "ucp_get")


#: The test of a log that does not name it.
UNNAMED = Test("ucx_perftest", "")
#: The same under a heading that says ``overhead``, which only streams have.
UNNAMED_STREAM = Test("ucx_perftest", "stream")

#: Name and, for each API, the description (UCX v1.9 and later leave out ``UCP``).
_TESTS: tuple[tuple[Test, str, str], ...] = (
    (Test("am_lat", "ping-pong", "latency"), "UCT", "active message latency"),
    (Test("put_lat", "ping-pong", "latency"), "UCT", "put latency"),
    (Test("add_lat", "ping-pong"), "UCT", "atomic add latency"),
    (Test("get", "operation"), "UCT", "get latency / bandwidth / message rate"),
    (Test("fadd", "operation"), "UCT", "atomic fetch-and-add latency"),
    (Test("swap", "operation"), "UCT", "atomic swap latency"),
    (Test("cswap", "operation"), "UCT", "atomic compare-and-swap latency"),
    (Test("am_bw", "stream", None, "bandwidth"), "UCT", "active message bandwidth"),
    (Test("put_bw", "stream", None, "put_bandwidth"), "UCT", "put bandwidth"),
    (Test("get_bw", "stream"), "UCT", "get bandwidth"),
    (Test("add_mr", "stream"), "UCT", "atomic add message rate"),
    (Test("tag_lat", "ping-pong", "latency"), "UCP", "tag match latency"),
    (Test("tag_bw", "stream", None, "bandwidth"), "UCP", "tag match bandwidth"),
    (Test("tag_sync_lat", "ping-pong", "latency"), "UCP", "tag sync match latency"),
    (Test("tag_sync_bw", "stream", None, "bandwidth"), "UCP", "tag sync match bandwidth"),
    (Test("ucp_put_lat", "ping-pong", "latency"), "UCP", "put latency"),
    (Test("ucp_put_bw", "stream", None, "put_bandwidth"), "UCP", "put bandwidth"),
    (Test("ucp_get", "operation"), "UCP", "get latency / bandwidth / message rate"),
    (Test("ucp_add", "stream"), "UCP", "atomic add bandwidth"),
    (Test("ucp_fadd", "operation"), "UCP", "atomic fetch-and-add latency"),
    (Test("ucp_swap", "operation"), "UCP", "atomic swap latency"),
    (Test("ucp_cswap", "operation"), "UCP", "atomic compare-and-swap latency"),
    (Test("stream_bw", "stream", None, "bandwidth"), "UCP", "stream bandwidth"),
    (Test("stream_lat", "ping-pong", "latency"), "UCP", "stream latency"),
    (Test("ucp_am_lat", "ping-pong", "latency"), "UCP", "am latency"),
    (Test("ucp_am_bw", "stream", None, "bandwidth"), "UCP", "am bandwidth"),
)
_BY_NAME = {test.name: test for test, _, _ in _TESTS}
_OPTION = re.compile(r"\s-t\s*(\w+)")


def described(description: str, api: str) -> Test:
    """The test that a box describes under a layer (``protocol layer``, ``transport layer``)."""
    layer = "UCT" if "transport" in api else "UCP"
    words = description.removeprefix("UCP ").strip()
    fitting = [test for test, of, begin in _TESTS if of == layer and words.startswith(begin)]
    return fitting[0] if fitting else UNNAMED


def named(name: str) -> Test:
    return _BY_NAME.get(name, UNNAMED)


def commanded(command: str) -> Test:
    """The test that a command line asks for."""
    option = _OPTION.search(command)
    return named(option[1]) if option else UNNAMED
