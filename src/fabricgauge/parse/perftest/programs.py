"""perftest's programs: what each measures, from its title or its name."""

import re
from collections.abc import Mapping

import msgspec

from fabricgauge.model.measurement import Pattern
from fabricgauge.parse.lines import remembered

#: Titles as ``ctx_print_test_info`` writes them; JSON has underscores for the spaces.
_TITLE = re.compile(
    r"(?P<verb>Send_imm|Send|RDMA_Write_imm|RDMA_Write|RDMA_Read"
    r"|Atomic(?:[ _](?:CMP_AND_SWAP|FETCH_AND_ADD))?)[ _]"
    r"(?P<both>Bidirectional[ _])?(?:Post[ _]List[ _])?"
    r"(?:(?P<kind>BW|Latency)[ _])?(?:forwarding[ _])?(?:Multicast[ _])?Test"
)
NAME = re.compile(
    r"(?:^|[\s/'\"`])(?P<name>ib_(?P<verb>send|write|read|atomic)_(?P<kind>lat|bw)"
    r"|raw_ethernet_(?P<raw>bw|lat|burst_lat))(?=[\s'\"`]|$)"
)
_VERBS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}


class PerftestProgram(msgspec.Struct, frozen=True):
    """A measuring program. ``verb`` is send, write, read, atomic or empty if not known.

    ``kind`` is ``lat``, ``bw`` or ``burst_lat``; ``both`` is for traffic both ways at once,
    ``half`` for one direction's share of it, ``receiver`` for what a stream's receiver timed,
    ``backward`` for the share that the server sends.
    """

    verb: str
    kind: str
    raw: bool = False
    both: bool = False
    half: bool = False
    receiver: bool = False
    backward: bool = False

    @property
    def name(self) -> str:
        if self.raw:
            return f"raw_ethernet_{self.kind}"
        return f"ib_{self.verb}_{self.kind}" if self.verb else f"perftest ({self.kind})"

    @property
    def directions(self) -> int:
        return 2 if self.both and not self.half else 1

    @property
    def from_server(self) -> bool:
        """A read fetches its bytes from the server; all else goes to it, unless ``backward``."""
        return (self.verb == "read") is not self.backward

    @property
    def latency(self) -> str:
        """What a time is (README of perftest, "Notes on Testing Methodology")."""
        if self.kind == "burst_lat":
            return "half the time from a burst's posting to its completion"
        if self.verb in ("send", "write"):
            how = {"send": "ping-pong", "write": "ping-pong of writes, polled in memory"}
            return f"half round trip ({how[self.verb]})"
        if self.verb in ("read", "atomic"):
            return f"whole round trip of one {self.verb}"
        return "half round trip (send, write) or whole one (read, atomic): the log names no test"

    @property
    def bandwidth(self) -> str:
        verb = f"{self.verb}s" if self.verb else "messages"
        if self.receiver:
            return f"stream of {verb}, one way, timed by the receiver from the first one's arrival"
        if self.half:
            return f"one direction of a two-way stream of {verb}"
        way = "both directions together" if self.both else "one way"
        return f"stream of {verb}, {way}"

    @property
    def latency_pattern(self) -> Pattern | None:
        """Each side answers the other in turn, be it with sends or with writes.

        Hence ``latency`` for both: our ``put_latency`` is a put with its flush instead,
        which the origin sees alone.
        """
        return "latency" if self.kind == "lat" and self.verb in ("send", "write") else None

    @property
    def bandwidth_pattern(self) -> Pattern | None:
        if self.half or self.receiver or self.verb not in ("send", "write"):
            return None
        if self.both:
            return "bidirectional_bandwidth"
        return "bandwidth" if self.verb == "send" else "put_bandwidth"


@remembered
def titled(text: str) -> PerftestProgram | None:
    """The program that writes a title, as far as the title alone says."""
    match = _TITLE.fullmatch(text.strip()) if "Test" in text else None
    if match is None:
        return None
    verb = match["verb"].removesuffix("_imm")
    kind = {"BW": "bw", "Latency": "lat", None: "burst_lat"}[match["kind"]]
    return PerftestProgram(_VERBS.get(verb, "atomic"), kind, both=match["both"] is not None)


def named(command: str) -> PerftestProgram | None:
    """The program that a command line starts."""
    match = NAME.search(command)
    if match is None:
        return None
    both = re.search(r"\s(?:-b|--bidirectional)(?=\s|$)", command) is not None
    if match["raw"]:
        return PerftestProgram("send", match["raw"], raw=True, both=both)
    return PerftestProgram(match["verb"], match["kind"], both=both)


def settled(program: PerftestProgram, settings: Mapping[str, str]) -> PerftestProgram:
    """The same, now that the settings below the title are known.

    A receiver starts its clock at the first arrival (``run_iter_bw_server``): of few messages
    it sees more than the network did. The README trusts the client alone.
    """
    raw = program.raw or settings.get("connection type") == "RawEth"
    receives = "rx depth" in settings and "tx depth" not in settings
    receiver = receives and program.kind == "bw" and not program.both
    return msgspec.structs.replace(program, raw=raw, receiver=receiver)
