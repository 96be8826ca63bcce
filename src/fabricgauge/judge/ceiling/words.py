"""Parse the words by which a person states a network.

A word is a row of ``WORDS``. Words come in any order and in any case; blanks within one
(``100 GbE``, ``pcie 3.0 x8``, ``nvlink 4``) are allowed.
"""

import re
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches

from fabricgauge.judge.ceiling import ethernet, infiniband, pcie, unframed
from fabricgauge.model.errors import UsageError

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
        *(f"pcie {name} x16" for name in pcie.GENERATIONS),
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
    for word, facts in _words(text):
        for key, value in facts.items():
            if all_facts.setdefault(key, value) != value:
                raise UsageError(
                    f"network {text!r}: {word!r} states {key} {value}, another word"
                    f" {all_facts[key]}; state one of them"
                )
    return all_facts


def _words(text: str) -> Iterator[tuple[str, StatedFacts]]:
    remaining = text.strip(_BETWEEN)
    while remaining:
        word, facts = _first(remaining, text)
        yield word, facts
        remaining = remaining[len(word) :].lstrip(_BETWEEN)


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
    (rf"pci(?:e|-e|\s?express){_REVISION}", _revision("pcie-link", pcie.GENERATIONS)),
    (rf"cxl{_REVISION}", _revision("cxl", unframed.CXLS)),
    (r"(\d{2,3})()", _rate),
)

WORDS = tuple(
    (re.compile(rf"(?:{pattern})(?=[\s,/;+]|$)", re.IGNORECASE), facts_of)
    for pattern, facts_of in _ROWS
)
