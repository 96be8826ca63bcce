"""Find the parts of several sources that describe the same thing, and merge them; pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, Gpu, RdmaPort
from fabricgauge.nodes.discover.printouts import pci

_T = TypeVar("_T", Adapter, RdmaPort, Gpu)

#: Parts, each with its source.
SourcedParts = Sequence[tuple[str, _T]]

#: Fields on which two sources must agree. A driver is not among them: a function's driver has
#: another name than its interface's (mlx4_core and mlx4_en, hfi1 and ib_ipoib, virtio-pci and
#: virtio_net, cxi_ss1 and cxi_eth).
_ADAPTER = ("numa_node", "pcie_now", "pcie_capable", "lane_mode")
_PORT = ("state", "lid", "sm_lid", "rate_bit_s", "lanes")

#: A product without a name, given by its PCI numbers only.
NUMBERS = re.compile(r"(?:[A-Z]+ )?[0-9a-f]{4}(?::[0-9a-f]{4})?")

#: Kinds that are a general PCI class, or unknown.
VAGUE = frozenset({"", "network", "fabric"})

#: Beyond this a printout is nonsense, and looking for pairs would take long.
MAX_PARTS = 2000


def merge_adapters(
    sourced: SourcedParts[Adapter], troubles: list[str], facts: Mapping[str, str] | None = None
) -> tuple[Adapter, ...]:
    """Return one adapter for each function.

    Parts are joined by bus, else by interface, else by RDMA device, else by product, which is in
    ``facts`` (``pci id BUS``, ``part DEVICE``). Contradictions are added to ``troubles``.
    """
    groups = _join_lane_modes(group_same(sourced, _list_names, _is_same_adapter), troubles)
    groups = _join_devices(groups, facts or {})
    return tuple(_merge_adapter(group, troubles) for group in groups)


def _merge_adapter(group: SourcedParts[Adapter], troubles: list[str]) -> Adapter:
    parts = [part for _, part in group]
    kinds = [part.kind for part in parts]
    merged = _merge_fields(group, _ADAPTER, _name_adapter, troubles)
    return msgspec.structs.replace(
        merged,
        vendor=_choose_name([part.vendor for part in parts]),
        product=_choose_name([part.product for part in parts]),
        firmware=_choose_firmware(group, merged, troubles),
        # The first that is more than a general PCI class (02 80, 02 08).
        kind=next((kind for kind in kinds if kind not in VAGUE), next(filter(None, kinds), "")),
        interfaces=tuple(dict.fromkeys(name for part in parts for name in part.interfaces)),
        rdma_devices=tuple(dict.fromkeys(name for part in parts for name in part.rdma_devices)),
    )


def merge_rdma_ports(sourced: SourcedParts[RdmaPort], troubles: list[str]) -> tuple[RdmaPort, ...]:
    """Return one port for each device and number."""
    groups = group_same(sourced, lambda port: (_name_port(port),), lambda a, b: True)
    return tuple(_merge_fields(group, _PORT, _name_port, troubles) for group in groups)


def merge_gpus(sourced: SourcedParts[Gpu]) -> tuple[Gpu, ...]:
    """Return one GPU for each bus address, or for each index if a source has no address.

    The index is NVIDIA's own if its tool gave one: a process may see another order.
    """
    gpus = []
    for group in group_same(
        sourced, lambda gpu: (normalise_bus(gpu.bus), str(gpu.index)), _is_same_gpu
    ):
        merged = _merge_fields(group, (), lambda gpu: gpu.bus, [])
        indices = (gpu.index for _, gpu in group if not NUMBERS.fullmatch(gpu.product))
        name = _choose_name([gpu.product for _, gpu in group])
        product = name if isinstance(name, str) else merged.product
        index = next(indices, merged.index)
        gpus.append(msgspec.structs.replace(merged, index=index, product=product))
    return tuple(sorted(gpus, key=lambda gpu: gpu.index))


@lru_cache(maxsize=2 * MAX_PARTS)
def normalise_bus(text: str) -> str:
    """Return a PCI address with a domain of four digits, in small letters."""
    return pci.parse_address(text) or text


def _list_names(adapter: Adapter) -> Iterator[str]:
    yield from (*adapter.interfaces, *adapter.rdma_devices)
    if isinstance(adapter.bus, str):
        yield normalise_bus(adapter.bus)


def _join_devices(
    groups: list[list[tuple[str, Adapter]]], facts: Mapping[str, str]
) -> list[list[tuple[str, Adapter]]]:
    """Join RDMA devices without a bus with functions without a device, if the match is certain.

    It is certain if one of each has the product, or if there is one InfiniBand function and one
    device in all. ``ibstat`` prints no bus, ``lspci`` no RDMA device.
    """
    device_groups = [
        group for group in groups if not _list_buses(group) and _has_rdma_device(group)
    ]
    free_groups = [group for group in groups if _list_buses(group) and not _has_rdma_device(group)]
    joined: list[list[tuple[str, Adapter]]] = []
    for device_group in device_groups:
        product = _find_product(device_group, facts)
        same_product = [group for group in device_groups if _find_product(group, facts) == product]
        candidates = [
            group for group in free_groups if product and _find_product(group, facts) == product
        ]
        is_ethernet = any(adapter.kind == "ethernet" for _, adapter in device_group)
        if not candidates and len(device_groups) == 1 and not is_ethernet:
            candidates = [
                group
                for group in free_groups
                if any(adapter.kind in _RDMA_KINDS for _, adapter in group)
                and (not product or not _find_product(group, facts))
            ]
        if len(same_product) == len(candidates) == 1:
            candidates[0].extend(device_group)
            joined.append(device_group)
    return [group for group in groups if all(group is not device for device in joined)]


#: Kinds of function that have an RDMA device.
_RDMA_KINDS = frozenset({"infiniband", "omni-path", "efa"})


def _has_rdma_device(group: SourcedParts[Adapter]) -> bool:
    return any(adapter.rdma_devices for _, adapter in group)


def _list_buses(group: SourcedParts[Adapter]) -> list[str]:
    return [normalise_bus(adapter.bus) for _, adapter in group if isinstance(adapter.bus, str)]


def _find_product(group: SourcedParts[Adapter], facts: Mapping[str, str]) -> str:
    """Return its PCI numbers, by bus or by RDMA device; "" if no source gives them."""
    names = [f"pci id {bus}" for bus in _list_buses(group)]
    names += [f"part {device}" for _, adapter in group for device in adapter.rdma_devices]
    return next((facts[name] for name in names if name in facts), "")


def _join_lane_modes(
    groups: list[list[tuple[str, Adapter]]], troubles: list[str]
) -> list[list[tuple[str, Adapter]]]:
    """Join the QSFP+ Configuration Utility's values with the only adapter that they fit.

    The utility numbers adapters; it configures those that the driver i40e runs (Intel XL710; the
    utility's readme).
    """
    unplaced = [group for group in groups if _is_unplaced(group[0][1])]
    placed = [group for group in groups if not _is_unplaced(group[0][1])]
    candidates = [
        group for group in placed if any(adapter.driver == "i40e" for _, adapter in group)
    ]
    if len(unplaced) == len(candidates) == 1:
        candidates[0].extend(unplaced[0])
        return placed
    if len(candidates) > 1:
        problem = f"does not identify its adapter among {len(candidates)}"
        troubles += [f"{group[0][0]} {problem}" for group in unplaced]
    return groups


def _is_unplaced(adapter: Adapter) -> bool:
    is_placed = isinstance(adapter.bus, str) or adapter.interfaces or adapter.rdma_devices
    return not is_placed and isinstance(adapter.lane_mode, str)


def _is_same_adapter(a: Adapter, b: Adapter) -> bool:
    if isinstance(a.bus, str) and isinstance(b.bus, str):
        return normalise_bus(a.bus) == normalise_bus(b.bus)
    return not {*a.interfaces}.isdisjoint(b.interfaces) or not {*a.rdma_devices}.isdisjoint(
        b.rdma_devices
    )


def _is_same_gpu(a: Gpu, b: Gpu) -> bool:
    """Compare GPUs; the order on the bus in /sys is not NVIDIA's index."""
    if a.bus and b.bus:
        return normalise_bus(a.bus) == normalise_bus(b.bus)
    return a.index == b.index and not any(NUMBERS.fullmatch(gpu.product) for gpu in (a, b))


def _merge_fields(
    group: SourcedParts[_T],
    agreeing: tuple[str, ...],
    get_name: Callable[[_T], str],
    troubles: list[str],
) -> _T:
    """Return the first part, with its unknown fields from the later ones."""
    first_source, merged = group[0]
    origins = dict.fromkeys(merged.__struct_fields__, first_source)
    for source, part in group[1:]:
        new_values = {}
        for field in merged.__struct_fields__:
            value, part_value = getattr(merged, field), getattr(part, field)
            if _is_unknown(part_value):
                continue
            if _is_unknown(value):
                new_values[field], origins[field] = part_value, source
            elif field in agreeing and not _agree(value, part_value):
                field_name = field.replace("_", " ")
                troubles.append(
                    f"{get_name(merged)}: {origins[field]} gives {field_name} "
                    f"{_format_value(value)}, {source} gives {_format_value(part_value)}"
                )
        merged = msgspec.structs.replace(merged, **new_values)
    return merged


def _is_unknown(value: object) -> bool:
    return isinstance(value, Skipped) or value in ("", ())


def _agree(a: object, b: object) -> bool:
    """Compare two values; a board's name may follow a version."""
    if a == b:
        return True
    if isinstance(a, str) and isinstance(b, str):
        return a.startswith(b) or b.startswith(a)
    if isinstance(a, float) and isinstance(b, float | int):
        return abs(a - b) <= 0.02 * max(abs(a), abs(b))
    return False


def _choose_name(values: Sequence[str | Skipped]) -> str | Skipped:
    """Return a name from the PCI database, else its numbers, else the first reason."""
    texts = [value for value in values if isinstance(value, str)]
    names = [text for text in texts if not NUMBERS.fullmatch(text)]
    return next(iter(names or texts), values[0])


def _choose_firmware(
    group: SourcedParts[Adapter], merged: Adapter, troubles: list[str]
) -> str | Skipped:
    """Return the first version, but prefer the interface's driver to the RDMA device.

    irdma gives the version of its own command interface (Linux 6.12, irdma/verbs.c), qedr
    another spelling: neither is the adapter's, and neither is a contradiction.
    """
    versions, driver_versions = list[tuple[str, str]](), list[tuple[str, str]]()
    for source, adapter in group:
        if isinstance(adapter.firmware, str):
            versions.append((source, adapter.firmware))
            if adapter.interfaces or not adapter.rdma_devices:
                driver_versions.append((source, adapter.firmware))
    if not versions:
        return merged.firmware
    preferred = driver_versions or versions
    source, version = versions[0]
    if not _agree(version, preferred[0][1]):
        source, version = preferred[0]
    troubles += [
        f"{_name_adapter(merged)}: {source} gives firmware {version},"
        f" {other_source} gives {other_version}"
        for other_source, other_version in preferred
        if not _agree(version, other_version)
    ]
    return version


def _name_adapter(adapter: Adapter) -> str:
    bus = (adapter.bus,) if isinstance(adapter.bus, str) else ()
    return " ".join((*adapter.interfaces, *adapter.rdma_devices, *bus)) or "an adapter"


def _name_port(port: RdmaPort) -> str:
    return f"{port.device}:{port.number}"


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def group_same(
    sourced: SourcedParts[_T],
    list_names: Callable[[_T], Iterable[str]],
    is_same: Callable[[_T, _T], bool],
) -> list[list[tuple[str, _T]]]:
    """Group parts that are the same, in the order of the first of each group.

    A part that matches two groups joins them. Parts that are the same have at least one of their
    names in common: only such parts are compared, because a node may have a thousand virtual
    functions.
    """
    groups: dict[int, list[tuple[str, _T]]] = {}
    groups_by_name: dict[str, set[int]] = {}
    for number, (source, part) in enumerate(sourced[:MAX_PARTS]):
        candidates = {
            group
            for name in list_names(part)
            for group in groups_by_name.get(name, ())
            if group in groups
        }
        matches = sorted(
            group
            for group in candidates
            if any(is_same(part, member) for _, member in groups[group])
        )
        home, *joined_groups = matches or [number]
        moved = [(source, part)]
        for joined_group in reversed(joined_groups):
            moved = groups.pop(joined_group) + moved
        groups.setdefault(home, []).extend(moved)
        for _, moved_part in moved:
            for name in list_names(moved_part):
                groups_by_name.setdefault(name, set()).add(home)
    return list(groups.values())
