"""The network that a person states for figures that somebody else measured."""

import re
from collections.abc import Callable

import msgspec

from fabricgauge.ceiling import cxl, efa, ethernet, infiniband, nvlink, omni_path, pcie_link, roce
from fabricgauge.ceiling import slingshot as slingshots
from fabricgauge.ceiling.words import Told, expected, known_names, told
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network

__all__ = ["known_names", "stated_network"]

#: Facts that tell which family a network is of.
_FAMILIES = ("rate", "speed", "omni-path", "slingshot", "efa", "nvlink", "cxl", "pcie-link")

_TCP = ("timestamps", "ip")
_ADAPTER = ("mtu", "rails", "pcie", "mps", "pcie-link", "lanes")


class _Stated(msgspec.Struct, frozen=True):
    """What a family makes of the facts; ``uses`` are those that mean something to it."""

    technology: str
    link: str
    name: str
    rate_bit_s: float
    usual_mtu: int
    uses: tuple[str, ...]
    mtus: tuple[int, ...] = ()
    least_mtu: int = 68
    rails: int = 1


def stated_network(text: str) -> Network:
    """The network that ``text`` states: a name and options, in any order and case.

    It has no members; what was not stated is the technology's usual value and named in
    ``assumed``.

    Raises:
        UsageError: with what was not understood, what was expected and what is known.
    """
    facts = told(text)
    stated = _FAMILY_OF[_family(text, facts)](text, facts)
    _refuse_unused(text, facts, stated)
    return Network(
        name=facts.get("name", stated.name),
        subnet=_subnet(text, facts, stated),
        technology=stated.technology,
        rate_bit_s=stated.rate_bit_s,
        rate_origin=f"stated on the command line: {text.strip()}",
        members=(),
        timestamps=_timestamps(text, facts, stated),
        stated_mtu_bytes=_mtu(text, facts, stated),
        rails=_rails(text, facts, stated),
        host_link=_host_link(text, facts, stated),
        link=stated.link,
        assumed=_assumed(facts, stated),
    )


def _family(text: str, facts: Told) -> str:
    present = [key for key in _FAMILIES if key in facts]
    if len(present) == 2 and present[1] == "pcie-link" and present[0] not in ("nvlink", "cxl"):
        return present[0]
    if not present:
        raise UsageError(f"network {text!r} names no network of a known rate; {expected()}")
    if len(present) > 1:
        both = " and ".join(facts[key] for key in present)
        raise UsageError(f"network {text!r} names {both}; state one network")
    return present[0]


def _ethernet(text: str, facts: Told) -> _Stated:
    technology = facts.get("transport", "ethernet")
    label = {"roce-v1": " RoCE v1", "roce-v2": " RoCE v2", "iwarp": " iWARP"}.get(technology, "")
    uses = {"ethernet": _TCP, "iwarp": _TCP, "roce-v2": ("ip",)}.get(technology, ())
    rdma = technology.startswith("roce")
    return _Stated(
        technology=technology,
        link=facts["rate"],
        name=facts["rate"] + label,
        rate_bit_s=ethernet.RATES[facts["rate"]],
        usual_mtu=infiniband.MTUS[-1] if rdma else ethernet.USUAL_MTU,
        uses=("rate", "transport", *uses, *_ADAPTER),
        least_mtu=roce.LEAST_MTU if rdma else 256,
    )


def _infiniband(text: str, facts: Told) -> _Stated:
    link = infiniband.IbLink(facts["speed"], int(facts.get("width", "4")))
    if link.lanes not in infiniband.WIDTHS:
        widths = ", ".join(f"{lanes}x" for lanes in infiniband.WIDTHS)
        raise UsageError(f"network {text!r}: InfiniBand has no {link.lanes}x; widths: {widths}")
    return _Stated(
        "infiniband", link.name, link.name, link.data_bit_s, infiniband.MTUS[-1],
        ("speed", "width", "family", *_ADAPTER), infiniband.MTUS,
    )  # fmt: skip


def _omni_path(text: str, facts: Told) -> _Stated:
    name = facts["omni-path"]
    return _Stated(
        "omni-path", name, name, omni_path.GENERATIONS[name].data_bit_s, omni_path.LARGEST_MTU,
        ("omni-path", "family", *_ADAPTER), omni_path.MTUS,
    )  # fmt: skip


def _slingshot(text: str, facts: Told) -> _Stated:
    name = facts["slingshot"]
    return _Stated(
        "slingshot", name, name, slingshots.GENERATIONS[name], slingshots.USUAL_MTU[name],
        ("slingshot", *_ADAPTER), least_mtu=roce.LEAST_MTU,
    )  # fmt: skip


def _efa(text: str, facts: Told) -> _Stated:
    name = facts["efa"]
    return _Stated("efa", name, name, efa.CARDS[name], efa.USUAL_MTU, ("efa", *_ADAPTER))


def _nvlink(text: str, facts: Told) -> _Stated:
    name = facts["nvlink"]
    generation = nvlink.GENERATIONS[name]
    return _Stated(
        "nvlink", name, name, generation.link_bit_s, nvlink.PACKET_BYTES,
        ("nvlink", "links", "rails"), rails=generation.links,
    )  # fmt: skip


def _pcie(text: str, facts: Told) -> _Stated:
    link = pcie_link.PcieLink(facts["pcie-link"], _lanes(text, facts, pcie_link.LANES))
    return _Stated(
        "pcie", link.name, link.name, link.data_bit_s, pcie_link.ASSUMED_PAYLOAD,
        ("pcie-link", "lanes", "mps"), pcie_link.PAYLOADS,
    )  # fmt: skip


def _cxl(text: str, facts: Told) -> _Stated:
    lanes = _lanes(text, facts, cxl.LANES)
    name = f"CXL {facts['cxl']} x{lanes}"
    rate_bit_s = cxl.GENERATIONS[facts["cxl"]].data_bit_s(lanes)
    return _Stated("cxl", name, name, rate_bit_s, cxl.LINE_BYTES, ("cxl", "lanes"))


_FAMILY_OF: dict[str, Callable[[str, Told], _Stated]] = {
    "rate": _ethernet,
    "speed": _infiniband,
    "omni-path": _omni_path,
    "slingshot": _slingshot,
    "efa": _efa,
    "nvlink": _nvlink,
    "pcie-link": _pcie,
    "cxl": _cxl,
}


def _refuse_unused(text: str, facts: Told, stated: _Stated) -> None:
    unused = [key for key in facts if key not in (*stated.uses, "name")]
    family = facts.get("family")
    if family and family != stated.technology:
        unused.append("family")
    if unused:
        words = ", ".join(f"{key} {facts[key]}" for key in unused)
        raise UsageError(f"network {text!r}: {words} means nothing for {stated.name}; leave it out")


def _mtu(text: str, facts: Told, stated: _Stated) -> int:
    key = "mps" if stated.technology == "pcie" else "mtu"
    if key not in facts:
        return stated.usual_mtu
    mtu = _count(text, key, facts[key])
    if stated.mtus and mtu not in stated.mtus:
        known = ", ".join(map(str, stated.mtus))
        raise UsageError(f"network {text!r}: {stated.name} has no {key} of {mtu}; known: {known}")
    rdma_mtu = stated.least_mtu == roce.LEAST_MTU and mtu in infiniband.MTUS
    if not rdma_mtu and not stated.least_mtu <= mtu <= 65535:
        raise UsageError(
            f"network {text!r}: {key}={mtu} is not between {stated.least_mtu} and 65535 bytes"
        )
    return mtu


def _assumed(facts: Told, stated: _Stated) -> tuple[str, ...]:
    mtu = () if "mtu" in facts or (stated.technology == "pcie" and "mps" in facts) else ("mtu",)
    return (*mtu, *(key for key in _TCP if key in stated.uses and key not in facts))


def _timestamps(text: str, facts: Told, stated: _Stated) -> bool:
    """On as Linux's TCP has them; off as an iWARP adapter's own TCP does."""
    usual = "off" if stated.technology == "iwarp" else "on"
    said = facts.get("timestamps", usual)
    if said not in ("on", "off"):
        raise UsageError(f"network {text!r}: timestamps={said}; expected on or off")
    return said == "on"


def _subnet(text: str, facts: Told, stated: _Stated) -> str:
    """All of the stated IP version's addresses, empty where no IP is spoken."""
    if "ip" not in stated.uses:
        return ""
    subnets = {"4": "0.0.0.0/0", "6": "::/0"}
    if facts.get("ip", "4") not in subnets:
        raise UsageError(f"network {text!r}: ip={facts['ip']}; expected 4 or 6")
    return subnets[facts.get("ip", "4")]


def _rails(text: str, facts: Told, stated: _Stated) -> int:
    for key in ("rails", "links"):
        if key in facts:
            return _count(text, key, facts[key], 1024)
    return stated.rails


def _host_link(text: str, facts: Told, stated: _Stated) -> str:
    """As ``pcie=3x8`` or in words (``pcie 3.0 x8``) beside the network's own name."""
    if "pcie" not in stated.uses or not {"pcie", "pcie-link", "lanes", "mps"} & set(facts):
        return ""
    generation, lanes = facts.get("pcie-link"), facts.get("lanes")
    if "pcie" in facts:
        found = re.fullmatch(r"(?:gen)?(\d)(?:\.\d)?x(\d{1,3})", facts["pcie"])
        generation, lanes = (f"{found[1]}.0", found[2]) if found else (facts["pcie"], "")
    mps = f" MPS {facts['mps']}" if "mps" in facts else ""
    link = f"PCIe {generation or '?'} x{lanes or '?'}{mps}"
    if not isinstance(pcie_link.pcie_link(link), pcie_link.PcieLink):
        raise UsageError(
            f"network {text!r}: {link} is no PCIe link; expected e.g. pcie=3x8, generations"
            f" 1 to 7, widths {', '.join(map(str, pcie_link.LANES))},"
            f" mps {', '.join(map(str, pcie_link.PAYLOADS))}"
        )
    return link


def _lanes(text: str, facts: Told, known: tuple[int, ...]) -> int:
    lanes = int(facts.get("lanes", "0"))
    if lanes not in known:
        widths = ", ".join(f"x{one}" for one in known)
        raise UsageError(f"network {text!r} needs a width, one of {widths}")
    return lanes


def _count(text: str, key: str, said: str, most: int = 1 << 20) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", said) or not 1 <= int(said) <= most:
        raise UsageError(f"network {text!r}: {key}={said}; expected a whole number, 1 to {most}")
    return int(said)
