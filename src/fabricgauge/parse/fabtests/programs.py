"""fi_pingpong and fabtests' programs: what each measures."""

import re
from typing import Literal

import msgspec

from fabricgauge.model.measurement import Pattern

COMMAND = (
    r"fi_(?:pingpong|(?:rdm|msg|dgram|rma)(?:_\w{1,24})?_(?:pingpong|bw|bw_mt"
    r"|tx_completion))(?=[\s'\"`]|$)"
)
_NAME = re.compile(r"fi_\w+")
_PROVIDER = re.compile(r"\s-p\s*[\"']?([\w;]+)")
_READ = re.compile(r"\s-o\s*read(?=\s|$)")
_TCP = ("tcp", "sockets", "net")
_RDMA = ("verbs", "efa", "psm2", "psm3", "opx", "cxi", "ucx")


class Program(msgspec.Struct, frozen=True):
    """A measuring program and what its figures are."""

    name: str
    time: str
    bandwidth: str
    latency_pattern: Pattern | None = None
    bandwidth_pattern: Pattern | None = None
    transport: Literal["tcp", "rdma", ""] = ""


#: A text table of fabtests names no program.
UNNAMED = Program(
    "fabtests",
    "time per transfer: the log does not name the program",
    "bytes of all transfers per time: the log does not name the program",
)


def program_of(command: str, pingpong: bool, transfers: int) -> Program:
    """The program of a table: by its command line, else by its heading or its counts.

    ``transfers`` per iteration are two in a ping-pong only.
    """
    name = _NAME.search(command)
    printed = name[0] if name else ""
    if pingpong or (not printed and transfers == 2):
        printed = "fi_pingpong" if pingpong else "fabtests (ping-pong)"
    return msgspec.structs.replace(_program(printed, command), transport=_transport(command))


def _program(name: str, command: str) -> Program:
    if "pingpong" in name or "ping-pong" in name:
        bandwidth = "ping-pong bandwidth (size / half round trip)"
        return Program(name, "half round trip", bandwidth, "latency")
    if "_bw" in name:
        return Program(name, "sender's time per message", *_stream(name, command))
    return msgspec.structs.replace(UNNAMED, name=name) if name else UNNAMED


def _stream(name: str, command: str) -> tuple[str, None, Pattern | None]:
    if "rma" not in name:
        return "one-way stream", None, "bandwidth"
    if _READ.search(command):
        return "one-way stream of reads", None, None
    return "one-way stream of writes", None, "put_bandwidth"


def _transport(command: str) -> Literal["tcp", "rdma", ""]:
    option = _PROVIDER.search(command)
    providers = option[1].split(";") if option else []
    if any(provider in _TCP for provider in providers):
        return "tcp"
    return "rdma" if any(provider in _RDMA for provider in providers) else ""
