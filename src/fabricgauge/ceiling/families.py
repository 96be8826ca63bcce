"""What each family of networks makes of the facts that a statement tells."""

from collections.abc import Callable

import msgspec

from fabricgauge.ceiling import ethernet, infiniband, ipoib, omni_path, pcie, unframed
from fabricgauge.ceiling import unframed as slingshots
from fabricgauge.ceiling.words import Told
from fabricgauge.model.errors import UsageError

#: Facts that mean something where TCP is spoken.
TCP = ("timestamps", "ip")
_ADAPTER = ("mtu", "rails", "pcie", "mps", "pcie-link", "lanes")


class StatedFamily(msgspec.Struct, frozen=True):
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


def _ethernet(text: str, facts: Told) -> StatedFamily:
    technology = facts.get("transport", "ethernet")
    if technology == "ipoib":
        raise UsageError(f"network {text!r}: IPoIB needs InfiniBand or Omni-Path, e.g. edr ipoib")
    label = {"roce-v1": " RoCE v1", "roce-v2": " RoCE v2", "iwarp": " iWARP"}.get(technology, "")
    uses = {"ethernet": TCP, "iwarp": TCP, "roce-v2": ("ip",)}.get(technology, ())
    rdma = technology.startswith("roce")
    return StatedFamily(
        technology=technology,
        link=facts["rate"],
        name=facts["rate"] + label,
        rate_bit_s=ethernet.rate_of(facts["rate"]),
        usual_mtu=infiniband.MTUS[-1] if rdma else ethernet.USUAL_MTU,
        uses=("rate", "transport", *uses, *_ADAPTER),
        least_mtu=ethernet.LEAST_MTU if rdma else 256,
    )


def _infiniband(text: str, facts: Told) -> StatedFamily:
    link = infiniband.IbLink(facts["speed"], int(facts.get("width", "4")))
    if link.lanes not in infiniband.WIDTHS:
        widths = ", ".join(f"{lanes}x" for lanes in infiniband.WIDTHS)
        raise UsageError(f"network {text!r}: InfiniBand has no {link.lanes}x; widths: {widths}")
    stated = StatedFamily(
        "infiniband", link.name, link.name, link.data_bit_s, infiniband.MTUS[-1],
        ("speed", "width", "family", *_ADAPTER), infiniband.MTUS,
    )  # fmt: skip
    return _ipoib(facts, stated, ipoib.USUAL_MTU)


def _omni_path(text: str, facts: Told) -> StatedFamily:
    name = facts["omni-path"]
    stated = StatedFamily(
        "omni-path", name, name, omni_path.GENERATIONS[name].data_bit_s, omni_path.LARGEST_MTU,
        ("omni-path", "family", *_ADAPTER), omni_path.MTUS,
    )  # fmt: skip
    return _ipoib(facts, stated, ipoib.USUAL_OMNI_PATH_MTU)


def _ipoib(facts: Told, link: StatedFamily, usual_mtu: int) -> StatedFamily:
    """IP on that link, where it is meant: the MTU is then the interface's."""
    if facts.get("transport") != "ipoib":
        return link
    return msgspec.structs.replace(
        link, technology="ipoib", name=f"{link.name} IPoIB", usual_mtu=usual_mtu, mtus=(),
        uses=(*link.uses, "transport", "mode", *TCP),
    )  # fmt: skip


def _slingshot(text: str, facts: Told) -> StatedFamily:
    name = facts["slingshot"]
    return StatedFamily(
        "slingshot", name, name, slingshots.SLINGSHOTS[name], slingshots.SLINGSHOT_MTU[name],
        ("slingshot", "family", *_ADAPTER), least_mtu=ethernet.LEAST_MTU,
    )  # fmt: skip


def _efa(text: str, facts: Told) -> StatedFamily:
    name = facts["efa"]
    return StatedFamily(
        "efa",
        name,
        name,
        unframed.EFA_CARDS[name],
        unframed.EFA_MTU,
        ("efa", "family", *_ADAPTER),
    )


def _nvlink(text: str, facts: Told) -> StatedFamily:
    name = facts["nvlink"]
    generation = unframed.NVLINKS[name]
    return StatedFamily(
        "nvlink", name, name, generation.link_bit_s, unframed.NVLINK_PACKET_BYTES,
        ("nvlink", "links", "rails"), rails=generation.links,
    )  # fmt: skip


def _pcie(text: str, facts: Told) -> StatedFamily:
    link = pcie.PcieCapacity(facts["pcie-link"], _lanes(text, facts, pcie.LANES))
    return StatedFamily(
        "pcie", link.name, link.name, link.data_bit_s, pcie.ASSUMED_PAYLOAD,
        ("pcie-link", "lanes", "mps"), pcie.PAYLOADS,
    )  # fmt: skip


def _cxl(text: str, facts: Told) -> StatedFamily:
    lanes = _lanes(text, facts, unframed.CXL_LANES)
    name = f"CXL {facts['cxl']} x{lanes}"
    rate_bit_s = unframed.CXLS[facts["cxl"]].data_bit_s(lanes)
    return StatedFamily("cxl", name, name, rate_bit_s, unframed.CXL_LINE_BYTES, ("cxl", "lanes"))


def _lanes(text: str, facts: Told, known: tuple[int, ...]) -> int:
    lanes = int(facts.get("lanes", "0"))
    if lanes not in known:
        widths = ", ".join(f"x{one}" for one in known)
        raise UsageError(f"network {text!r} needs a width, one of {widths}")
    return lanes


#: What families are called by their rates in Gb/s alone, and what these rates tell.
BY_RATE: dict[str, dict[float, Told]] = {
    "infiniband": {
        10: {"speed": "SDR"}, 20: {"speed": "DDR"}, 40: {"speed": "QDR"}, 56: {"speed": "FDR"},
        100: {"speed": "EDR"}, 200: {"speed": "HDR"}, 400: {"speed": "NDR"}, 800: {"speed": "XDR"},
    },
    "omni-path": {100: {"omni-path": "OPA100"}, 400: {"omni-path": "CN5000"}},
    "slingshot": {
        100: {"slingshot": "Slingshot-10"}, 200: {"slingshot": "Slingshot-11"},
    },
    "efa": {
        rate / 1e9: {"efa": name} for name, rate in unframed.EFA_CARDS.items()
    },
}  # fmt: skip

#: How far a name's rounded rate may be from the link's own: FDR, "56 Gb/s", carries 54.5.
ROUNDED = 0.04


def settled(text: str, facts: Told) -> Told:
    """The facts, with a rate beside another family made what it tells of that.

    Raises:
        UsageError: the family has no such rate, or another one was named; the message offers some.
    """
    family = facts.get("family", "")
    others = [key for key in FAMILY_OF if key in facts and key not in ("rate", "pcie-link")]
    if "rate" not in facts or (family not in BY_RATE and len(others) != 1):
        return facts
    rate_bit_s = ethernet.rate_of(facts["rate"])
    rest = {key: value for key, value in facts.items() if key != "rate"}
    if others:
        link = FAMILY_OF[others[0]](text, rest)
        nominal = BY_RATE.get(link.technology, {}).get(rate_bit_s / 1e9, {})
        agrees = nominal and nominal.items() <= rest.items() and rest.get("width", "4") == "4"
        if agrees or abs(rate_bit_s / link.rate_bit_s - 1.0) < ROUNDED:
            return rest
        raise UsageError(
            f"network {text!r} names {link.name} and {facts['rate']}; state one network"
        )
    told = BY_RATE[family].get(rate_bit_s / 1e9)
    if told is None:
        raise UsageError(f"network {text!r}: {offered(family)}")
    return rest | told


def offered(family: str) -> str:
    """The usual rates of a family that was named without one."""
    if family not in BY_RATE:
        return "add a rate, such as 25GbE or 100 Gb/s"
    rates = BY_RATE[family]
    return f"{family} needs one of its rates, e.g. {family} {max(rates):g}: " + ", ".join(
        f"{rate:g} ({next(iter(told.values()))})" for rate, told in sorted(rates.items())
    )


#: By the fact that tells the family.
FAMILY_OF: dict[str, Callable[[str, Told], StatedFamily]] = {
    "rate": _ethernet,
    "speed": _infiniband,
    "omni-path": _omni_path,
    "slingshot": _slingshot,
    "efa": _efa,
    "nvlink": _nvlink,
    "pcie-link": _pcie,
    "cxl": _cxl,
}
