"""Build the network that a user states for figures measured elsewhere."""

import re
from typing import Any, TypeVar

from fabricgauge.judge.ceiling import ethernet, infiniband, pcie
from fabricgauge.judge.ceiling.words import (
    EXPECTED,
    FAMILY_OF,
    TCP,
    StatedFacts,
    StatedFamily,
    known_names,
    offered,
    parse_statement,
    reconcile_rate,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network

__all__ = ["known_names", "stated_network"]

#: All addresses of the stated IP version, by the version; none without IP.
SUBNETS = {"4": "0.0.0.0/0", "6": "::/0", "": ""}

T = TypeVar("T")


def stated_network(text: str) -> Network:
    """Return the network that ``text`` states: a name and options, in any order and case.

    It has no members. A value that was not stated is the technology's usual one and named in
    ``assumed``.

    Raises:
        UsageError: a word or value is unknown; the message lists what is known.
    """
    facts = parse_statement(text)
    framing = facts.pop("framing", "") if "transport" not in facts else ""
    facts.pop("framing", "")
    facts = reconcile_rate(text, facts)
    stated = FAMILY_OF[_family(text, facts)](text, facts)
    _refuse_unused(text, facts, stated)
    # Linux's TCP has timestamps on, an iWARP adapter's own TCP off.
    usual = "off" if stated.technology == "iwarp" else "on"
    timestamps = facts.get("timestamps", usual)
    version = facts.get("ip", "4") if "ip" in stated.uses else ""
    count = next((key for key in ("rails", "links") if key in facts), "")
    return Network(
        name=facts.get("name", stated.name),
        subnet=_choice(text, "ip", version, SUBNETS),
        technology=stated.technology,
        rate_bit_s=stated.rate_bit_s,
        rate_origin=f"stated on the command line: {text.strip()}",
        members=(),
        timestamps=_choice(text, "timestamps", timestamps, {"on": True, "off": False}),
        stated_mtu_bytes=_mtu(text, facts, stated),
        rails=_count(text, count, facts[count], 1024) if count else stated.rails,
        host_link=_host_link(text, facts, stated),
        link=stated.link,
        assumed=(*_assumed(facts, stated), *(("framing",) if framing else ())),
        mode=facts.get("mode", ""),
        **_path(text, facts),
    )


#: Options of the path between two nodes, and the largest value of each.
PATH = {"switches": 16, "cable": 10_000}
#: Technologies whose links join devices of one node.
_WITHIN_NODE = ("nvlink", "pcie", "cxl")


def _path(text: str, facts: StatedFacts) -> dict[str, Any]:
    """Return the stated number of switches and length of cables; nothing if not stated."""
    path: dict[str, Any] = {}
    for key, most in PATH.items():
        value = facts.get(key)
        if value is None:
            continue
        if not re.fullmatch(r"[0-9]{1,5}(?:\.[0-9]{1,3})?", value) or float(value) > most:
            raise UsageError(f"network {text!r}: {key}={value}; expected a number, 0 to {most}")
        if key == "cable":
            path["cable_m"] = float(value)
        elif "." in value:
            raise UsageError(f"network {text!r}: {key}={value}; expected a whole number")
        else:
            path["switches"] = int(value)
    return path


def _family(text: str, facts: StatedFacts) -> str:
    present = [key for key in FAMILY_OF if key in facts]
    if len(present) == 2 and present[1] == "pcie-link" and present[0] not in ("nvlink", "cxl"):
        return present[0]
    if not present:
        lacking = offered(facts.get("family", "")) if facts else EXPECTED
        raise UsageError(f"network {text!r} names no network of a known rate; {lacking}")
    if len(present) > 1:
        names = " and ".join(facts[key] for key in present)
        raise UsageError(f"network {text!r} names {names}; state one network")
    return present[0]


def _refuse_unused(text: str, facts: StatedFacts, stated: StatedFamily) -> None:
    usable = ("name",) if stated.technology in _WITHIN_NODE else ("name", *PATH)
    unused = [key for key in facts if key not in (*stated.uses, *usable)]
    family = facts.get("family")
    if family and family != stated.technology:
        unused.append("family")
    if unused:
        words = ", ".join(f"{key} {facts[key]}" for key in unused)
        links = f"for {facts.get('width')} links write rails={facts.get('width')}"
        mend = links if unused == ["width"] else "leave it out"
        raise UsageError(f"network {text!r}: {words} means nothing for {stated.name}; {mend}")


def _mtu(text: str, facts: StatedFacts, stated: StatedFamily) -> int:
    key = "mps" if stated.technology == "pcie" else "mtu"
    if key not in facts:
        return stated.usual_mtu
    mtu = _count(text, key, facts[key])
    if stated.mtus and mtu not in stated.mtus:
        listed = ", ".join(map(str, stated.mtus))
        raise UsageError(f"network {text!r}: {stated.name} has no {key} of {mtu}; known: {listed}")
    rdma_mtu = stated.least_mtu == ethernet.LEAST_MTU and mtu in infiniband.MTUS
    if not rdma_mtu and not stated.least_mtu <= mtu <= 65535:
        raise UsageError(
            f"network {text!r}: {key}={mtu} is not between {stated.least_mtu} and 65535 bytes"
        )
    return mtu


def _assumed(facts: StatedFacts, stated: StatedFamily) -> tuple[str, ...]:
    mtu = () if "mtu" in facts or (stated.technology == "pcie" and "mps" in facts) else ("mtu",)
    return (*mtu, *(key for key in TCP if key in stated.uses and key not in facts))


def _choice(text: str, key: str, value: str, choices: dict[str, T]) -> T:
    if value not in choices:
        raise UsageError(
            f"network {text!r}: {key}={value}; expected {' or '.join(filter(None, choices))}"
        )
    return choices[value]


def _host_link(text: str, facts: StatedFacts, stated: StatedFamily) -> str:
    """Return the adapter's link, stated as ``pcie=3x8`` or in words (``pcie 3.0 x8``)."""
    if "pcie" not in stated.uses or not {"pcie", "pcie-link", "lanes", "mps"} & set(facts):
        return ""
    generation, lanes = facts.get("pcie-link"), facts.get("lanes")
    if "pcie" in facts:
        match = re.fullmatch(r"(?:gen)?(\d)(?:\.\d)?x(\d{1,3})", facts["pcie"])
        generation, lanes = (f"{match[1]}.0", match[2]) if match else (facts["pcie"], "")
    mps = f" MPS {facts['mps']}" if "mps" in facts else ""
    link = f"PCIe {generation or '?'} x{lanes or '?'}{mps}"
    if not isinstance(pcie.pcie_link(link), pcie.PcieCapacity):
        raise UsageError(
            f"network {text!r}: {link} is no PCIe link; expected e.g. pcie=3x8, generations"
            f" 1 to 7, widths {', '.join(map(str, pcie.LANES))},"
            f" mps {', '.join(map(str, pcie.PAYLOADS))}"
        )
    return link


def _count(text: str, key: str, value: str, most: int = 1 << 20) -> int:
    if match := re.fullmatch(r"([1-9][0-9]?)k", value):  # 4k of RDMA is 4096, 9k of frames 9000
        binary = int(match[1]) * 1024
        value = str(binary if binary in infiniband.MTUS else int(match[1]) * 1000)
    if not re.fullmatch(r"[0-9]{1,7}", value) or not 1 <= int(value) <= most:
        raise UsageError(f"network {text!r}: {key}={value}; expected a whole number, 1 to {most}")
    return int(value)
