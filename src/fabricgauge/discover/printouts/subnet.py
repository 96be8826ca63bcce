"""``iblinkinfo``, ``ibqueryerrors`` → links and errors of an InfiniBand subnet's ports; pure.

As infiniband-diags 44 prints them (iblinkinfo with and without ``-l``; ibqueryerrors with and
without ``-r``). They speak of a whole subnet, whichever node they were run on.
"""

import re
from collections.abc import Callable, Iterator

from fabricgauge.discover.printouts.lines import lines
from fabricgauge.model.adapter import LANE_BIT_S
from fabricgauge.model.subnet import PortErrors, Subnet, SubnetLink, SubnetPort

_GUID = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")
_HEAD = re.compile(
    r"(?:Switch:\s*(?P<guid>0x[0-9a-fA-F]{1,16})\s*(?P<switch>.*?)|CA:\s*(?P<adapter>.*?)):?\s*"
)
_LINK = re.compile(
    r"\s*(?P<guid>0x[0-9a-fA-F]{1,16})?\s*(?:\"(?P<name>[^\"]*)\")?"
    r"\s+(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})\[[^\]]*\] ==\(\s*(?P<link>[^)]*?)\s*\)==>"
    r"\s*(?P<peer_guid>0x[0-9a-fA-F]{1,16})?\s*(?:\d{1,5})?\s*(?P<peer_port>\d{1,3})?"
    r"\[[^\]]*\] \"(?P<peer>[^\"]*)\" \((?P<could>[^)]*)\)\s*"
)
_STATE = re.compile(r"(\d{1,2})X\s+([\d.]{1,10}) Gbps.*?(\w+)\s*/\s*(\w+)")
_COULD_LANES, _COULD_SPEED = re.compile(r"Could be (\d{1,2})X"), re.compile(
    r"Could be ([\d.]{1,10}) Gbps"
)  # fmt: skip


def _speed(text: str) -> float:
    """A lane's rate in bit/s; 14.0625 and 25.78125 are printed in full, 53.125 as such."""
    value = float(text) * 1e9 if text.count(".") <= 1 and text.strip(".") else 0.0
    near = (rate for rate in LANE_BIT_S.values() if abs(rate - value) <= 0.02 * rate)
    return next(near, value)


def links(text: str) -> Subnet:
    """The links that are up. Of a port without one nothing is known: it may be meant so."""
    return Subnet(links=tuple(_links(text)), read=frozenset({"links"}))


def _links(text: str) -> Iterator[SubnetLink]:
    here = SubnetPort("", "", 0)
    for line in lines(text):
        if head := _HEAD.fullmatch(line[:300]):
            description = head["switch"] if head["guid"] else head["adapter"]
            here = SubnetPort(
                _identity(head["guid"]), _unquoted(description), 0, switch=bool(head["guid"])
            )
            continue
        found = _LINK.fullmatch(line[:600])
        state = _STATE.match(found["link"]) if found else None
        if found is None or state is None or not found["peer_port"]:
            continue
        if state[4] != "LinkUp":
            continue
        lanes, lane = int(state[1]), _speed(state[2])
        wider = _COULD_LANES.search(found["could"])
        faster = _COULD_SPEED.search(found["could"])
        guid = _identity(found["guid"]) if found["guid"] else here.guid
        description = _unquoted(found["name"]) if found["name"] else here.description
        port = SubnetPort(guid, description, int(found["port"]), here.switch)
        peer = SubnetPort(
            _identity(found["peer_guid"]), _unquoted(found["peer"]), int(found["peer_port"])
        )
        yield SubnetLink(
            port, peer, lanes, lane,
            int(wider[1]) if wider else lanes, _speed(faster[1]) if faster else lane,
        )  # fmt: skip


def _unquoted(description: str | None) -> str:
    return (description or "").strip().strip('"').strip()


def _identity(guid: str | None) -> str:
    found = _GUID.fullmatch(guid or "")
    return f"0x{found[1].lower():0>16}" if found else ""


_OF = re.compile(r"Errors for (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?\"(?P<name>[^\"]*)\"\s*")
_PORT = re.compile(r"\s*GUID (0x[0-9a-fA-F]{1,16}) port (ALL|\d{1,3}): (.*)")
_COUNTER = re.compile(r"\[(\w{1,60}) == (\d{1,20})[^\]]*\]")
_SUMMARY = "## Summary:"


def errors(text: str) -> Subnet:
    """The ports with errors. ``port ALL`` is a switch's sum, and left out."""
    found: list[PortErrors] = []
    name, switch = "", False
    for line in lines(text):
        if head := _OF.match(line[:300]):
            name, switch = head["name"].strip(), bool(head["guid"])
        elif (port := _PORT.match(line[:4000])) and port[2] != "ALL":
            counters = {one[1]: int(one[2]) for one in _COUNTER.finditer(port[3])}
            at = SubnetPort(_identity(port[1]), name, int(port[2]), switch)
            found.append(PortErrors(at, counters))
    whole = bool(found) or _SUMMARY in text
    return Subnet(errors=tuple(found), read=frozenset({"errors"} if whole else ()))


#: By the tool's name, which a file's name begins with.
SUBNET_PARSERS: dict[str, Callable[[str], Subnet]] = {"iblinkinfo": links, "ibqueryerrors": errors}


def parse_subnet(name: str, text: str) -> Subnet | None:
    """What a printout of the whole subnet says; None where it is none, or says nothing."""
    stem = name.rpartition("/")[2]
    for tool, parse in SUBNET_PARSERS.items():
        if stem.startswith(tool) and not stem[len(tool) :][:1].isalnum():
            found = parse(text)
            return found if found.links or found.errors or "errors" in found.read else None
    return None


def is_of_subnet(name: str) -> bool:
    """Whether a printout of that name speaks of a whole subnet."""
    stem = name.rpartition("/")[2]
    return any(stem.startswith(tool) for tool in SUBNET_PARSERS)


def joined(several: list[Subnet]) -> Subnet:
    """All of them as one; what two printouts say alike is there once."""
    return Subnet(
        tuple(dict.fromkeys(link for one in several for link in one.links)),
        tuple({one.port: one for of in several for one in of.errors}.values()),
        frozenset().union(*(one.read for one in several)),
    )
