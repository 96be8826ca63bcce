"""Parse the words by which a person states a network, and build that network.

A word is a row of ``WORDS``. Words come in any order and in any case; blanks within one
(``100 GbE``, ``pcie 3.0 x8``, ``nvlink 4``) are allowed. A family is a row of ``FAMILY_OF``.
"""

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from fabricgauge.judge.ceiling import capacity, ethernet, infiniband, unframed
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network

#: Facts by name (``rate``, ``speed``, ``mtu``), each as text.
StatedFacts = dict[str, str]

#: Options and what they expect, for messages and docs.
OPTIONS: dict[str, str] = {
    "mtu": "bytes; for RoCE the interface's MTU, or the RDMA MTU (256 to 4096)",
    "rails": "links of that rate that a node has",
    "links": "NVLink: links that join the pair of GPUs",
    "timestamps": "TCP timestamps: on or off",
    "ip": "4 or 6",
    "pcie": "what the adapter is attached by: generation and width, e.g. 3x8 or 4.0x16",
    "mps": "largest PCIe payload in bytes: 128, 256, 512, 1024, 2048 or 4096",
    "switches": "switches between two nodes, 0 if a cable joins them",
    "cable": "length of each cable in metres",
    "name": "what reports call the network, without blanks",
}

#: Characters between two words.
_BETWEEN = " ,/;+\t\r\n"

_FactsOf = Callable[[re.Match[str]], StatedFacts | None]


def known_names() -> tuple[str, ...]:
    """Return statements of every known network, in their usual spelling."""
    return (
        *ethernet.RATES,
        *("100GbE roce", "100GbE roce-v1", "10GbE iwarp", "edr ipoib", "opa100 ipoib"),
        *(name.lower() for name in infiniband.SPEEDS),
        *("2x hdr", "hdr100"),
        *(name.lower() for name in infiniband.OMNI_PATHS),
        *(name.lower() for name in unframed.SLINGSHOTS),
        *(name.lower() for name in unframed.EFA_CARDS),
        *(name.lower().replace(" ", "") for name in unframed.NVLINKS),
        *(f"pcie {name} x16" for name in capacity.PCIE_GENERATIONS),
        *(f"cxl {name} x16" for name in unframed.CXLS),
    )


EXPECTED = "expected e.g. '25GbE mtu=9000', '100GbE roce', edr, hdr100, opa100 or efa-200"


def _suggest(unknown: str) -> str:
    """Suggest known words that resemble an unknown one, or a few examples."""
    names = (*known_names(), *(f"{key}=" for key in OPTIONS), "infiniband", "ethernet", "iwarp")
    word = re.sub(r"=.*", "=", unknown.lower())
    near = get_close_matches(word, [name.lower() for name in names], n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else EXPECTED


def parse_statement(text: str) -> StatedFacts:
    """Return the facts that the words of ``text`` state.

    Raises:
        UsageError: a word is unknown, or two contradict each other.
    """
    all_facts: StatedFacts = {}
    remaining = text.strip(_BETWEEN)
    while remaining:
        word, facts = _first(remaining, text)
        remaining = remaining[len(word) :].lstrip(_BETWEEN)
        for key, value in facts.items():
            if all_facts.setdefault(key, value) != value:
                raise UsageError(
                    f"network {text!r}: {word!r} states {key} {value}, another word"
                    f" {all_facts[key]}; state one of them"
                )
    return all_facts


def _first(remaining: str, text: str) -> tuple[str, StatedFacts]:
    if in_bytes := _BYTES.match(remaining):
        bits = f"{float(in_bytes[1]) * 8:g} {in_bytes[2].upper()}b/s"
        raise UsageError(f"network {text!r}: {in_bytes[0]} counts bytes; did you mean {bits}?")
    for pattern, facts_of in WORDS:
        match = pattern.match(remaining)
        facts = facts_of(match) if match else None
        if match and facts is not None:
            return match[0], facts
    unknown = re.split(r"[\s,/;+]", remaining, maxsplit=1)[0]
    raise UsageError(f"network {text!r}: {unknown!r} is not understood; {_suggest(unknown)}")


def _option(match: re.Match[str]) -> StatedFacts | None:
    key = match[1].lower()
    return {key: match[2] if key == "name" else match[2].lower()} if key in OPTIONS else None


#: A rate that is stated as Ethernet's; another may be a cap, which counts fewer bytes.
_FRAMED = re.compile(r"(?:b?e|ige)$|ethernet", re.IGNORECASE)


def _rate(match: re.Match[str]) -> StatedFacts | None:
    unit = (match[2] or "g").lower()
    stated_bit_s = float(match[1]) * {"m": 1e6, "g": 1e9, "t": 1e12}[unit]
    if stated_bit_s < 1e6:
        return None
    framed = {} if _FRAMED.search(match[0]) else {"framing": "not stated"}
    return {"rate": ethernet.rate_name(stated_bit_s), **framed}


def _speed(match: re.Match[str]) -> StatedFacts:
    return {"speed": match[2].upper()} | ({"width": str(int(match[1]))} if match[1] else {})


def _speed_at_rate(match: re.Match[str]) -> StatedFacts | None:
    """Return the lanes of ``hdr100``, which give that rate; such names may round (``fdr56``)."""
    speed = match[1].upper()
    lanes = float(match[2]) * 1e9 / infiniband.SPEEDS[speed].data_bit_s(1)
    whole_lanes = round(lanes)
    fits = whole_lanes in infiniband.WIDTHS and abs(lanes - whole_lanes) < 0.03 * whole_lanes
    return {"speed": speed, "width": str(whole_lanes)} if fits else None


def _constant(**facts: str) -> _FactsOf:
    return lambda match: facts


def _number(key: str) -> _FactsOf:
    return lambda match: {key: str(int(match[1]))}


def _name(key: str, prefix: str, names: Collection[str]) -> _FactsOf:
    def facts_of(match: re.Match[str]) -> StatedFacts | None:
        name = f"{prefix}{match[1]}"
        return {key: name} if name in names else None

    return facts_of


def _revision(key: str, revisions: Collection[str]) -> _FactsOf:
    """Return a revision with its width; PCIe's minor numbers (3.1) do not change its rate."""

    def facts_of(match: re.Match[str]) -> StatedFacts | None:
        minor = match[2] if match[2] and key == "cxl" else "0"
        name = f"{match[1]}.{minor}"
        lanes = {"lanes": str(int(match[3]))} if match[3] else {}
        return {key: name} | lanes if name in revisions else None

    return facts_of


_NUMBER = r"(\d{1,4}(?:\.\d{1,3})?)"
#: A capital B is a byte.
_BYTES = re.compile(rf"{_NUMBER}\s*([MGTmgt])(?:i?B(?:/s|ps)|i?[Bb]ytes?)")
_UNIT = r"b?e|ige|igabits?(?:/s|\s+per\s+second)?|b(?:its?)?(?:/s(?:ec)?|ps)?|"
_SPEED = "|".join(sorted(infiniband.SPEEDS, key=len, reverse=True))
_REVISION = r"[\s-]*(?:gen\s*)?(\d)(?:\.(\d))?(?:\s*x\s*(\d{1,3}))?"

#: The pattern of a word, and the facts that it states; None if its number is unknown.
_ROWS: tuple[tuple[str, _FactsOf], ...] = (
    (r"([a-z]+)\s*[=:]\s*([^\s,]+)", _option),
    (r"mtu\s*(\d{3,5}|\d{1,2}k)", lambda match: {"mtu": match[1].lower()}),
    (r"jumbo(?:\s*frames?)?", _constant(mtu="9000")),
    (rf"{_NUMBER}\s*([mgt])(?:{_UNIT})(?:\s*ethernet)?", _rate),
    (r"ethernet|eth|tcp(?:/ip)?", _constant(transport="ethernet")),
    (r"roce[\s-]*v?1", _constant(transport="roce-v1")),
    (r"roce(?:[\s-]*v?2)?", _constant(transport="roce-v2")),
    (r"iwarp", _constant(transport="iwarp")),
    (r"ipoib", _constant(transport="ipoib")),
    (r"(datagram|connected)", lambda match: {"mode": match[1].lower()}),
    (r"infiniband|ib", _constant(family="infiniband")),
    (rf"({_SPEED})[\s-]?(\d{{2,4}})(?:\s*g(?:{_UNIT}))?", _speed_at_rate),
    (rf"(?:(\d{{1,2}})x[\s-]?)?({_SPEED})", _speed),
    (r"(\d{1,2})x", _number("width")),
    (r"x(\d{1,3})", _number("lanes")),
    (
        rf"(?:omni[\s-]?path[\s-]*|opa[\s-]*)(100)(?:\s*g(?:{_UNIT}))?",
        _name("omni-path", "OPA", infiniband.OMNI_PATHS),
    ),
    (r"omni[\s-]?path|opx|opa", _constant(family="omni-path")),
    (r"cn(\d{4})", _name("omni-path", "CN", infiniband.OMNI_PATHS)),
    (
        r"(?:slingshot|ss)[\s-]*(\d{2})",
        _name("slingshot", "Slingshot-", unframed.SLINGSHOTS),
    ),
    (r"slingshot|ss", _constant(family="slingshot")),
    (rf"efa[\s-]*(\d{{2,4}})(?:\s*g(?:{_UNIT}))?", _name("efa", "EFA-", unframed.EFA_CARDS)),
    (r"efa", _constant(family="efa")),
    (r"nvlink[\s-]*(\d)(?:\.0)?", _name("nvlink", "NVLink ", unframed.NVLINKS)),
    (rf"pci(?:e|-e|\s?express){_REVISION}", _revision("pcie-link", capacity.PCIE_GENERATIONS)),
    (rf"cxl{_REVISION}", _revision("cxl", unframed.CXLS)),
    (r"(\d{2,3})()", _rate),
)

WORDS = tuple(
    (re.compile(rf"(?:{pattern})(?=[\s,/;+]|$)", re.IGNORECASE), facts_of)
    for pattern, facts_of in _ROWS
)


#: Facts that matter to TCP.
TCP = ("timestamps", "ip")
_ADAPTER = ("mtu", "rails", "pcie", "mps", "pcie-link", "lanes")


class StatedFamily(msgspec.Struct, frozen=True):
    """A stated network's family and rate; ``uses`` are the facts that matter to it."""

    technology: str
    link: str
    name: str
    rate_bit_s: float
    usual_mtu: int
    uses: tuple[str, ...]
    mtus: tuple[int, ...] = ()
    least_mtu: int = 68
    rails: int = 1


#: Transports over Ethernet: the word for each, and the facts that matter to it.
_OVER_ETHERNET: dict[str, tuple[str, tuple[str, ...]]] = {
    "ethernet": ("", TCP),
    "iwarp": (" iWARP", TCP),
    "roce-v1": (" RoCE v1", ()),
    "roce-v2": (" RoCE v2", ("ip",)),
}


def _ethernet(text: str, facts: StatedFacts) -> StatedFamily:
    technology, rate = facts.get("transport", "ethernet"), facts["rate"]
    if technology == "ipoib":
        raise UsageError(f"network {text!r}: IPoIB needs InfiniBand or Omni-Path, e.g. edr ipoib")
    word, uses = _OVER_ETHERNET[technology]
    rdma = technology.startswith("roce")
    return StatedFamily(
        technology, rate, f"{rate}{word}", ethernet.rate_of(rate),
        infiniband.MTUS[-1] if rdma else ethernet.USUAL_MTU,
        ("rate", "transport", *uses, *_ADAPTER),
        least_mtu=ethernet.LEAST_MTU if rdma else 256,
    )  # fmt: skip


def _infiniband(text: str, facts: StatedFacts) -> StatedFamily:
    link = infiniband.IbLink(facts["speed"], int(facts.get("width", "4")))
    if link.lanes not in infiniband.WIDTHS:
        widths = ", ".join(f"{lanes}x" for lanes in infiniband.WIDTHS)
        raise UsageError(f"network {text!r}: InfiniBand has no {link.lanes}x; widths: {widths}")
    stated = StatedFamily(
        "infiniband", link.name, link.name, link.data_bit_s, infiniband.MTUS[-1],
        ("speed", "width", "family", *_ADAPTER), infiniband.MTUS,
    )  # fmt: skip
    return _ipoib(facts, stated, infiniband.IPOIB_MTU)


def _omni_path(text: str, facts: StatedFacts) -> StatedFamily:
    mtus = infiniband.OMNI_PATH_MTUS
    stated = _named("omni-path", facts, infiniband.OMNI_PATHS, mtus[-1], mtus=mtus)
    return _ipoib(facts, stated, infiniband.IPOIB_OMNI_PATH_MTU)


def _ipoib(facts: StatedFacts, link: StatedFamily, usual_mtu: int) -> StatedFamily:
    """Return IP on that link if stated: the MTU is then the interface's."""
    if facts.get("transport") != "ipoib":
        return link
    return msgspec.structs.replace(
        link, technology="ipoib", name=f"{link.name} IPoIB", usual_mtu=usual_mtu, mtus=(),
        uses=(*link.uses, "transport", "mode", *TCP),
    )  # fmt: skip


def _slingshot(text: str, facts: StatedFacts) -> StatedFamily:
    mtu = unframed.SLINGSHOT_MTU[facts["slingshot"]]
    least = ethernet.LEAST_MTU
    return _named("slingshot", facts, unframed.SLINGSHOTS, mtu, least_mtu=least)


def _named(
    family: str, facts: StatedFacts, rates_bit_s: dict[str, float], mtu: int, **more: Any
) -> StatedFamily:
    """Return a family whose link name implies the rate."""
    name = facts[family]
    uses = (family, "family", *_ADAPTER)
    return StatedFamily(family, name, name, rates_bit_s[name], mtu, uses, **more)


def _nvlink(text: str, facts: StatedFacts) -> StatedFamily:
    name = facts["nvlink"]
    generation = unframed.NVLINKS[name]
    return StatedFamily(
        "nvlink", name, name, generation.link_bit_s, unframed.NVLINK_PACKET_BYTES,
        ("nvlink", "links", "rails"), rails=generation.links,
    )  # fmt: skip


def _pcie(text: str, facts: StatedFacts) -> StatedFamily:
    link = capacity.PcieCapacity(facts["pcie-link"], _lanes(text, facts, capacity.PCIE_LANES))
    return StatedFamily(
        "pcie", link.name, link.name, link.data_bit_s, capacity.ASSUMED_MPS,
        ("pcie-link", "lanes", "mps"), capacity.PCIE_PAYLOADS,
    )  # fmt: skip


def _cxl(text: str, facts: StatedFacts) -> StatedFamily:
    lanes = _lanes(text, facts, unframed.CXL_LANES)
    name = f"CXL {facts['cxl']} x{lanes}"
    rate_bit_s = unframed.CXLS[facts["cxl"]].data_bit_s(lanes)
    return StatedFamily("cxl", name, name, rate_bit_s, unframed.CXL_LINE_BYTES, ("cxl", "lanes"))


def _lanes(text: str, facts: StatedFacts, widths: tuple[int, ...]) -> int:
    lanes = int(facts.get("lanes", "0"))
    if lanes not in widths:
        listed = ", ".join(f"x{width}" for width in widths)
        raise UsageError(f"network {text!r} needs a width, one of {listed}")
    return lanes


#: Names of families' links by their rates in Gb/s alone, with the fact that holds the name.
BY_RATE: dict[str, tuple[str, dict[float, str]]] = {
    "infiniband": (
        "speed",
        {10: "SDR", 20: "DDR", 40: "QDR", 56: "FDR", 100: "EDR", 200: "HDR", 400: "NDR",
         800: "XDR"},
    ),
    "omni-path": ("omni-path", {100: "OPA100", 400: "CN5000"}),
    "slingshot": ("slingshot", {100: "Slingshot-10", 200: "Slingshot-11"}),
    "efa": ("efa", {rate / 1e9: name for name, rate in unframed.EFA_CARDS.items()}),
}  # fmt: skip

#: How far a name's rounded rate may be from the link's own: FDR, "56 Gb/s", carries 54.5.
ROUNDED = 0.04


def reconcile_rate(text: str, facts: StatedFacts) -> StatedFacts:
    """Replace a rate that is stated beside another family by that family's link name.

    Raises:
        UsageError: the family has no such rate, or another one was named; the message offers some.
    """
    family = facts.get("family", "")
    links = [key for key in FAMILY_OF if key in facts and key not in ("rate", "pcie-link")]
    if "rate" not in facts or (family not in BY_RATE and len(links) != 1):
        return facts
    rate_bit_s = ethernet.rate_of(facts["rate"])
    remaining = {key: value for key, value in facts.items() if key != "rate"}
    if links:
        link = FAMILY_OF[links[0]](text, remaining)
        key, names = BY_RATE.get(link.technology, ("", {}))
        nominal = names.get(rate_bit_s / 1e9)
        four_lanes = remaining.get("width", "4") == "4"
        agrees = nominal and remaining.get(key) == nominal and four_lanes
        if agrees or abs(rate_bit_s / link.rate_bit_s - 1.0) < ROUNDED:
            return remaining
        raise UsageError(
            f"network {text!r} names {link.name} and {facts['rate']}; state one network"
        )
    key, names = BY_RATE[family]
    name = names.get(rate_bit_s / 1e9)
    if name is None:
        raise UsageError(f"network {text!r}: {offered(family)}")
    return remaining | {key: name}


def offered(family: str) -> str:
    """Return the usual rates of a family that was named without one."""
    if family not in BY_RATE:
        return "add a rate, such as 25GbE or 100 Gb/s"
    _, names = BY_RATE[family]
    rates = ", ".join(f"{rate:g} ({name})" for rate, name in sorted(names.items()))
    return f"{family} needs one of its rates, e.g. {family} {max(names):g}: {rates}"


#: By the fact that implies the family.
FAMILY_OF: dict[str, Callable[[str, StatedFacts], StatedFamily]] = {
    "rate": _ethernet,
    "speed": _infiniband,
    "omni-path": _omni_path,
    "slingshot": _slingshot,
    "efa": lambda _, facts: _named("efa", facts, unframed.EFA_CARDS, unframed.EFA_MTU),
    "nvlink": _nvlink,
    "cxl": _cxl,
    "pcie-link": _pcie,
}


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
    framing = facts.pop("framing", "")
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
        assumed=(
            *_assumed(facts, stated),
            *(("framing",) if framing and "transport" not in facts else ()),
        ),
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
    if not isinstance(capacity.pcie_link(link), capacity.PcieCapacity):
        raise UsageError(
            f"network {text!r}: {link} is no PCIe link; expected e.g. pcie=3x8, generations"
            f" 1 to 7, widths {', '.join(map(str, capacity.PCIE_LANES))},"
            f" mps {', '.join(map(str, capacity.PCIE_PAYLOADS))}"
        )
    return link


def _count(text: str, key: str, value: str, most: int = 1 << 20) -> int:
    if match := re.fullmatch(r"([1-9][0-9]?)k", value):  # 4k of RDMA is 4096, 9k of frames 9000
        binary = int(match[1]) * 1024
        value = str(binary if binary in infiniband.MTUS else int(match[1]) * 1000)
    if not re.fullmatch(r"[0-9]{1,7}", value) or not 1 <= int(value) <= most:
        raise UsageError(f"network {text!r}: {key}={value}; expected a whole number, 1 to {most}")
    return int(value)
