"""``iblinkinfo``, ``ibqueryerrors`` → links and errors of an InfiniBand subnet's ports; pure.

As infiniband-diags 44 prints them (iblinkinfo with and without ``-l``; ibqueryerrors with and
without ``-r``). They cover a whole subnet, from any node.
"""

import re
from collections.abc import Callable, Iterator

from fabricgauge.model.adapter import LANE_BIT_S
from fabricgauge.model.inventory import PortErrors, Subnet, SubnetLink, SubnetPort
from fabricgauge.nodes.discover.printouts.parsing import split_lines

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
_COULD_LANES = re.compile(r"Could be (\d{1,2})X")
_COULD_SPEED = re.compile(r"Could be ([\d.]{1,10}) Gbps")


def _parse_speed(text: str) -> float:
    """Return a lane's rate in bit/s; 14.0625, 25.78125 and 53.125 are printed in full."""
    value = float(text) * 1e9 if text.count(".") <= 1 and text.strip(".") else 0.0
    standard = (rate for rate in LANE_BIT_S.values() if abs(rate - value) <= 0.02 * rate)
    return next(standard, value)


def parse_links(text: str) -> Subnet:
    """Return the active links; a port without a link may be unused on purpose."""
    return Subnet(links=tuple(_list_links(text)), read=frozenset({"links"}))


def _list_links(text: str) -> Iterator[SubnetLink]:
    device = SubnetPort("", "", 0)
    for line in split_lines(text):
        if head := _HEAD.fullmatch(line[:300]):
            description = head["switch"] if head["guid"] else head["adapter"]
            device = SubnetPort(
                _format_guid(head["guid"]), _unquote(description), 0, switch=bool(head["guid"])
            )
            continue
        link = _LINK.fullmatch(line[:600])
        state = _STATE.match(link["link"]) if link else None
        if link is None or state is None or not link["peer_port"] or state[4] != "LinkUp":
            continue
        lanes, lane_bit_s = int(state[1]), _parse_speed(state[2])
        wider = _COULD_LANES.search(link["could"])
        faster = _COULD_SPEED.search(link["could"])
        guid = _format_guid(link["guid"]) if link["guid"] else device.guid
        description = _unquote(link["name"]) if link["name"] else device.description
        port = SubnetPort(guid, description, int(link["port"]), device.switch)
        peer = SubnetPort(
            _format_guid(link["peer_guid"]), _unquote(link["peer"]), int(link["peer_port"])
        )
        yield SubnetLink(
            port, peer, lanes, lane_bit_s,
            int(wider[1]) if wider else lanes, _parse_speed(faster[1]) if faster else lane_bit_s,
        )  # fmt: skip


def _unquote(description: str | None) -> str:
    return (description or "").strip().strip('"').strip()


def _format_guid(guid: str | None) -> str:
    match = _GUID.fullmatch(guid or "")
    return f"0x{match[1].lower():0>16}" if match else ""


_ERRORS_HEAD = re.compile(r"Errors for (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?\"(?P<name>[^\"]*)\"\s*")
_PORT = re.compile(r"\s*GUID (0x[0-9a-fA-F]{1,16}) port (ALL|\d{1,3}): (.*)")
_COUNTER = re.compile(r"\[(\w{1,60}) == (\d{1,20})[^\]]*\]")
_SUMMARY = "## Summary:"


def parse_errors(text: str) -> Subnet:
    """Return the ports with errors; ``port ALL``, a switch's sum, is left out."""
    errors: list[PortErrors] = []
    name, is_switch = "", False
    for line in split_lines(text):
        if head := _ERRORS_HEAD.match(line[:300]):
            name, is_switch = head["name"].strip(), bool(head["guid"])
        elif (match := _PORT.match(line[:4000])) and match[2] != "ALL":
            counters = {counter[1]: int(counter[2]) for counter in _COUNTER.finditer(match[3])}
            port = SubnetPort(_format_guid(match[1]), name, int(match[2]), is_switch)
            errors.append(PortErrors(port, counters))
    is_recognised = bool(errors) or _SUMMARY in text
    return Subnet(errors=tuple(errors), read=frozenset({"errors"} if is_recognised else ()))


#: By the tool's name, which a file's name begins with.
SUBNET_PARSERS: dict[str, Callable[[str], Subnet]] = {
    "iblinkinfo": parse_links, "ibqueryerrors": parse_errors,
}  # fmt: skip


def parse_subnet(name: str, text: str) -> Subnet | None:
    """Return the content of a printout of the whole subnet; None for others and without content."""
    stem = name.rpartition("/")[2]
    for tool, parse in SUBNET_PARSERS.items():
        if stem.startswith(tool) and not stem[len(tool) :][:1].isalnum():
            subnet = parse(text)
            return subnet if subnet.links or subnet.errors or "errors" in subnet.read else None
    return None


def is_subnet_printout(name: str) -> bool:
    """Check whether a printout of that name covers a whole subnet."""
    return name.rpartition("/")[2].startswith(tuple(SUBNET_PARSERS))


def merge_subnets(subnets: list[Subnet]) -> Subnet:
    """Return all printouts as one; equal links and ports are kept once."""
    return Subnet(
        tuple(dict.fromkeys(link for subnet in subnets for link in subnet.links)),
        tuple({errors.port: errors for subnet in subnets for errors in subnet.errors}.values()),
        frozenset().union(*(subnet.read for subnet in subnets)),
    )
