"""Parts of several sources that describe one thing, found and made one; pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec

from fabricgauge.discover.printouts import pci
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, Gpu, PcieLink, RdmaPort

_T = TypeVar("_T", Adapter, RdmaPort, Gpu)

#: Parts, each behind the source that gave it.
Said = Sequence[tuple[str, _T]]

#: Where two sources know one of these they must agree. A driver is not among them: that of a
#: function has another name than that of an interface on it (mlx4_core and mlx4_en, hfi1 and
#: ib_ipoib, virtio-pci and virtio_net, cxi_ss1 and cxi_eth).
_ADAPTER = ("numa_node", "pcie_now", "pcie_capable", "lane_mode")
_PORT = ("state", "lid", "sm_lid", "rate_bit_s", "lanes")

#: A product that is known by its PCI numbers only.
NUMBERS = re.compile(r"(?:[A-Z]+ )?[0-9a-f]{4}(?::[0-9a-f]{4})?")

#: Kinds that say no more than a general PCI class, or nothing.
VAGUE = frozenset({"", "network", "fabric"})

#: Beyond this a printout is nonsense, and looking for pairs would take long.
MOST_PARTS = 2000


def adapters(
    said: Said[Adapter], troubles: list[str], facts: Mapping[str, str] | None = None
) -> tuple[Adapter, ...]:
    """One for each function: joined by bus, else by interface, else by RDMA device, else by
    product, which ``facts`` tell (``pci id BUS``, ``part DEVICE``).

    Contradictions are added to ``troubles``.
    """
    groups = _with_lane_modes(grouped(said, _adapter_names, _same_adapter), troubles)
    groups = _with_devices(groups, facts or {})
    return tuple(_adapter(group, troubles) for group in groups)


def _adapter(group: Said[Adapter], troubles: list[str]) -> Adapter:
    parts = [part for _, part in group]
    kinds = [part.kind for part in parts]
    one = _filled(group, _ADAPTER, _adapter_name, troubles)
    return msgspec.structs.replace(
        one,
        vendor=_named([part.vendor for part in parts]),
        product=_named([part.product for part in parts]),
        firmware=_firmware(group, one, troubles),
        # The first that says more than a general PCI class (02 80, 02 08).
        kind=next((kind for kind in kinds if kind not in VAGUE), next(filter(None, kinds), "")),
        interfaces=tuple(dict.fromkeys(name for part in parts for name in part.interfaces)),
        rdma_devices=tuple(dict.fromkeys(name for part in parts for name in part.rdma_devices)),
    )


def rdma_ports(said: Said[RdmaPort], troubles: list[str]) -> tuple[RdmaPort, ...]:
    """One for each device and number."""
    groups = grouped(said, lambda one: (_port_name(one),), lambda a, b: True)
    return tuple(_filled(group, _PORT, _port_name, troubles) for group in groups)


def gpus(said: Said[Gpu]) -> tuple[Gpu, ...]:
    """One for each address on the bus, or for each index where a source knows no address.

    The index is NVIDIA's own where its tool gave one: a process may see another order.
    """
    found = []
    for group in grouped(said, lambda gpu: (bus_of(gpu.bus), str(gpu.index)), _same_gpu):
        one = _filled(group, (), lambda gpu: gpu.bus, [])
        own = (gpu.index for _, gpu in group if not NUMBERS.fullmatch(gpu.product))
        product = _named([gpu.product for _, gpu in group])
        named = product if isinstance(product, str) else one.product
        found.append(msgspec.structs.replace(one, index=next(own, one.index), product=named))
    return tuple(sorted(found, key=lambda gpu: gpu.index))


@lru_cache(maxsize=2 * MOST_PARTS)
def bus_of(text: str) -> str:
    """A PCI address with a domain of four digits, in small letters."""
    return pci.address(text) or text


def _adapter_names(one: Adapter) -> Iterator[str]:
    yield from (*one.interfaces, *one.rdma_devices)
    if isinstance(one.bus, str):
        yield bus_of(one.bus)


def _with_devices(
    groups: list[list[tuple[str, Adapter]]], facts: Mapping[str, str]
) -> list[list[tuple[str, Adapter]]]:
    """RDMA devices without a bus joined to functions without a device, where it is plain which
    belong together: one of each has the product, or there is one InfiniBand function and one
    device in all.

    ``ibstat`` knows no bus, ``lspci`` no RDMA device.
    """
    devices = [g for g in groups if not _buses(g) and any(one.rdma_devices for _, one in g)]
    free = [g for g in groups if _buses(g) and not any(one.rdma_devices for _, one in g)]
    joined: list[list[tuple[str, Adapter]]] = []
    for device in devices:
        part = _product_of(device, facts)
        alike = [one for one in devices if _product_of(one, facts) == part]
        fitting = [one for one in free if part and _product_of(one, facts) == part]
        if not fitting and len(devices) == 1 and all(one.kind != "ethernet" for _, one in device):
            fitting = [
                one for one in free
                if any(of.kind in _ALONE for _, of in one)
                and (not part or not _product_of(one, facts))
            ]  # fmt: skip
        if len(alike) == len(fitting) == 1:
            fitting[0].extend(device)
            joined.append(device)
    return [group for group in groups if all(group is not one for one in joined)]


#: Kinds of function that have an RDMA device.
_ALONE = frozenset({"infiniband", "omni-path", "efa"})


def _buses(group: Said[Adapter]) -> list[str]:
    return [bus_of(one.bus) for _, one in group if isinstance(one.bus, str)]


def _product_of(group: Said[Adapter], facts: Mapping[str, str]) -> str:
    """Its PCI numbers, by bus or by RDMA device; empty where no source tells them."""
    names = [f"pci id {bus}" for bus in _buses(group)]
    names += [f"part {device}" for _, one in group for device in one.rdma_devices]
    return next((facts[name] for name in names if name in facts), "")


def _with_lane_modes(
    groups: list[list[tuple[str, Adapter]]], troubles: list[str]
) -> list[list[tuple[str, Adapter]]]:
    """What the QSFP+ Configuration Utility says belongs to the only adapter that it can mean.

    It names adapters by numbers of its own; it configures those that the driver i40e runs
    (Intel XL710; the utility's readme).
    """
    unplaced = [group for group in groups if _is_unplaced(group[0][1])]
    others = [group for group in groups if not _is_unplaced(group[0][1])]
    meant = [group for group in others if any(one.driver == "i40e" for _, one in group)]
    if len(unplaced) == len(meant) == 1:
        meant[0].extend(unplaced[0])
        return others
    if len(meant) > 1:
        which = f"does not say which of {len(meant)} adapters it means"
        troubles += [f"{group[0][0]} {which}" for group in unplaced]
    return groups


def _is_unplaced(one: Adapter) -> bool:
    placed = isinstance(one.bus, str) or one.interfaces or one.rdma_devices
    return not placed and isinstance(one.lane_mode, str)


def _same_adapter(a: Adapter, b: Adapter) -> bool:
    if isinstance(a.bus, str) and isinstance(b.bus, str):
        return bus_of(a.bus) == bus_of(b.bus)
    return not {*a.interfaces}.isdisjoint(b.interfaces) or not {*a.rdma_devices}.isdisjoint(
        b.rdma_devices
    )


def _same_gpu(a: Gpu, b: Gpu) -> bool:
    """The place on the bus that /sys gives for an index is not NVIDIA's own."""
    if a.bus and b.bus:
        return bus_of(a.bus) == bus_of(b.bus)
    return a.index == b.index and not any(NUMBERS.fullmatch(one.product) for one in (a, b))


def _filled(
    group: Said[_T], agreeing: tuple[str, ...], name: Callable[[_T], str], troubles: list[str]
) -> _T:
    """The first part, with what it does not know from those behind it."""
    first, one = group[0]
    origin = dict.fromkeys(one.__struct_fields__, first)
    for source, other in group[1:]:
        new = {}
        for field in one.__struct_fields__:
            here, there = getattr(one, field), getattr(other, field)
            if _is_unknown(there):
                continue
            if _is_unknown(here):
                new[field], origin[field] = there, source
            elif field in agreeing and not _agree(here, there):
                what = field.replace("_", " ")
                troubles.append(
                    f"{name(one)}: {origin[field]} says {what} {_shown(here)}, "
                    f"{source} says {_shown(there)}"
                )
        one = msgspec.structs.replace(one, **new)
    return one


def _is_unknown(value: object) -> bool:
    return isinstance(value, Skipped) or value in ("", ())


def _agree(here: object, there: object) -> bool:
    """Versions may be followed by a board's name."""
    if here == there:
        return True
    if isinstance(here, str) and isinstance(there, str):
        return here.startswith(there) or there.startswith(here)
    if isinstance(here, float) and isinstance(there, float | int):
        return abs(here - there) <= 0.02 * max(abs(here), abs(there))
    return False


def _named(values: Sequence[str | Skipped]) -> str | Skipped:
    """A name from the PCI database before its numbers, the numbers before nothing."""
    known = [value for value in values if isinstance(value, str)]
    names = [value for value in known if not NUMBERS.fullmatch(value)]
    return next(iter(names or known), values[0])


def _firmware(group: Said[Adapter], whole: Adapter, troubles: list[str]) -> str | Skipped:
    """The first version, unless an RDMA device gave it and its interface's driver another one.

    irdma gives the version of its own command interface (Linux 6.12, irdma/verbs.c), qedr
    another spelling: neither is the adapter's, and neither is a contradiction.
    """
    told = [(source, one, one.firmware) for source, one in group if isinstance(one.firmware, str)]
    own = [(source, text) for source, one, text in told if one.interfaces or not one.rdma_devices]
    others = own or [(source, text) for source, _, text in told]
    if not told:
        return whole.firmware
    source, _, first = told[0]
    if not _agree(first, others[0][1]):
        source, first = others[0]
    troubles += [
        f"{_adapter_name(whole)}: {source} says firmware {first}, {other} says {text}"
        for other, text in others
        if not _agree(first, text)
    ]
    return first


def _adapter_name(adapter: Adapter) -> str:
    bus = (adapter.bus,) if isinstance(adapter.bus, str) else ()
    return " ".join((*adapter.interfaces, *adapter.rdma_devices, *bus)) or "an adapter"


def _port_name(port: RdmaPort) -> str:
    return f"{port.device}:{port.number}"


def _shown(value: object) -> str:
    if isinstance(value, PcieLink):
        return f"{value.gt_s:g} GT/s x{value.lanes}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def grouped(
    said: Said[_T], names: Callable[[_T], Iterable[str]], is_same: Callable[[_T, _T], bool]
) -> list[list[tuple[str, _T]]]:
    """In the order of the first of each; a part that two groups know joins them.

    Parts that are the same have at least one of their ``names`` in common: only such are
    compared, since a node may have a thousand virtual functions.
    """
    groups: dict[int, list[tuple[str, _T]]] = {}
    named: dict[str, set[int]] = {}
    for number, (source, one) in enumerate(said[:MOST_PARTS]):
        near = {n for name in names(one) for n in named.get(name, ()) if n in groups}
        alike = sorted(n for n in near if any(is_same(one, other) for _, other in groups[n]))
        home, *others = alike or [number]
        moved = [(source, one)]
        for joined in reversed(others):
            moved = groups.pop(joined) + moved
        groups.setdefault(home, []).extend(moved)
        for _, part in moved:
            for name in names(part):
                named.setdefault(name, set()).add(home)
    return list(groups.values())
