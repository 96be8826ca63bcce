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
        rate_bit_s=ethernet.RATES[facts["rate"]],
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
        ("slingshot", *_ADAPTER), least_mtu=ethernet.LEAST_MTU,
    )  # fmt: skip


def _efa(text: str, facts: Told) -> StatedFamily:
    name = facts["efa"]
    return StatedFamily(
        "efa", name, name, unframed.EFA_CARDS[name], unframed.EFA_MTU, ("efa", *_ADAPTER)
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
