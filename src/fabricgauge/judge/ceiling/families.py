"""Turn the facts of a statement into a network of each family."""

from collections.abc import Callable
from typing import Any

import msgspec

from fabricgauge.judge.ceiling import ethernet, infiniband, ipoib, pcie, unframed
from fabricgauge.judge.ceiling.words import StatedFacts
from fabricgauge.model.errors import UsageError

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
    return _ipoib(facts, stated, ipoib.USUAL_MTU)


def _omni_path(text: str, facts: StatedFacts) -> StatedFamily:
    mtus = infiniband.OMNI_PATH_MTUS
    stated = _named("omni-path", facts, infiniband.OMNI_PATHS, mtus[-1], mtus=mtus)
    return _ipoib(facts, stated, ipoib.USUAL_OMNI_PATH_MTU)


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
    link = pcie.PcieCapacity(facts["pcie-link"], _lanes(text, facts, pcie.LANES))
    return StatedFamily(
        "pcie", link.name, link.name, link.data_bit_s, pcie.ASSUMED_PAYLOAD,
        ("pcie-link", "lanes", "mps"), pcie.PAYLOADS,
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
