"""``ethtool -a IFACE`` → the fact ``pause IFACE``; pure."""

from collections.abc import Mapping

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.json_documents import word
from fabricgauge.discover.printouts.lines import lines, pair

TOOL = "ethtool -a"
HEAD = "Pause parameters for "
_OF_JSON = {"yes": "on", "no": "off"}


def of_text(text: str) -> Parts:
    """``rx on tx off``: what both ends agreed on where that is told, else what is set."""
    interface = ""
    found: dict[str, str] = {}
    for line in lines(text):
        bare = line.strip()
        if bare.startswith(HEAD):
            interface = interface or bare.removeprefix(HEAD).removesuffix(":")
        else:
            key, value = pair(bare)
            found.setdefault(key, value)
    rx, tx = (found.get(f"{way} negotiated") or found.get(way, "") for way in ("RX", "TX"))
    return _fact(interface, rx, tx)


def of_json(entry: Mapping[str, object]) -> Parts:
    negotiated = entry.get("negotiated")
    chosen = negotiated if isinstance(negotiated, dict) else entry
    rx, tx = (_OF_JSON.get(word(chosen.get(way)), "") for way in ("rx", "tx"))
    return _fact(word(entry.get("ifname")), rx, tx)


def _fact(interface: str, rx: str, tx: str) -> Parts:
    if not interface or rx not in ("on", "off") or tx not in ("on", "off"):
        return Parts(troubles=(f"{TOOL}: the pause of {interface[:40]!r} is not told",))
    return Parts(facts={f"pause {interface}": f"rx {rx} tx {tx}"})
