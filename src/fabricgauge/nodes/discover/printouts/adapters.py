"""``lspci``, ``lshw`` and ``qcu64e`` → adapters; pure.

``lspci``, ``-vv``, ``-n``, ``-nn``, ``-vmm``: as pciutils 3.9 prints it. Without root the
capabilities are denied, and with them the PCIe link. GPUs come from nvidia-smi.

``lshw``, ``lshw -class network``, as text or ``-json``: keys are those of lshw 02.19 (print.cc). In
text that was copied from a page long values are wrapped: a line without a known key continues the
value before it.

``qcu64e /NIC=n /INFO``: as the QSFP+ Configuration Utility v2.34 prints the lane mode of an Intel
QSFP+ adapter. The tool numbers its adapters: it prints neither bus nor interface.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, PcieLink
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    list_words,
    make_adapter,
    make_speed_fact,
    parse_entries,
    parse_pairs,
    parse_whole,
    read_text,
    report_unrecognised,
    split_blocks,
    split_lines,
    split_pair,
    to_table,
)

_LSPCI = "lspci"
DENIED = "<access denied>"
#: Classes by code, and bridges by any of their names.
_NETWORK = re.compile(r"02..").fullmatch
_BRIDGE = re.compile(r"06..|.*bridge.*", re.IGNORECASE | re.DOTALL).fullmatch
_SLOT = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)", re.DOTALL)


def parse_lspci(text: str, argument: str = "") -> Parts:
    """Return adapters of the classes 02xx and 0c06. Fact ``pci id BUS``: the numbers of each.

    Fact ``acs redirect``: the PCI bridges on which Access Control Services redirect peer
    requests to the root (``ACSCtl: … ReqRedir+``), space separated; absent if the capabilities
    were not shown.
    """
    troubles: tuple[str, ...] = ()
    if text.lstrip().startswith("Slot:"):
        records = re.split(r"\n[^\S\n]*(?=\n)", text.replace("\r\n", "\n"))
        functions = [_parse_record(record) for record in records]
    else:
        blocks = split_blocks(text, _SLOT.match)
        functions = [_parse_function(head[1], head[2], body) for head, body in blocks]
        troubles = report_unrecognised(_LSPCI, text, functions)
    controllers = [
        function
        for function in functions
        if function.bus
        and (function.device_class.lower() in pci.CLASSES or _NETWORK(function.device_class))
    ]
    facts = {
        f"pci id {function.bus}": function.numbers for function in controllers if function.numbers
    }
    is_shown = any("Capabilities" in function.values for function in functions)
    if is_shown and not any(function.is_denied for function in functions):
        facts["acs redirect"] = " ".join(
            function.bus
            for function in functions
            if "ReqRedir+" in function.values.get("ACSCtl", "") and _BRIDGE(function.device_class)
        )
    adapters = tuple(map(_make_adapter, controllers))
    return Parts(adapters=adapters, facts=facts, troubles=troubles)


class _Function(msgspec.Struct, frozen=True):
    """One function; ``values`` are the lines of ``-v`` below it, by their first word.

    ``bus`` is "" if a record gives none. ``device_class`` is the code if lspci printed it, else the
    class's name. ``product`` is "" if neither the database nor lspci's options give it. ``links``
    are the PCI Express link in use and the best one.
    """

    bus: str
    device_class: str
    vendor: str | Skipped
    product: str
    values: dict[str, str]
    links: dict[str, PcieLink | Skipped] = {}
    is_denied: bool = False
    numbers: str = ""


def _parse_function(slot: str, description: str, body: str) -> _Function:
    indented = [line for line in body.split("\n") if line[:1].isspace()]
    values = parse_pairs("\n".join(indented), ":")
    is_denied = any(DENIED in line[:80] for line in indented)
    bus = pci.parse_address(slot) or slot
    links = {
        "pcie_now": _parse_link(values, "LnkSta", bus, is_denied),
        "pcie_capable": _parse_link(values, "LnkCap", bus, is_denied),
    }
    name = description.partition(" (rev ")[0].partition(" (prog-if ")[0]
    numbers = _DEVICE.search(name[-12:])
    return _Function(
        bus, *_split_description(description), values, links, is_denied,
        numbers[1].lower() if numbers else "",
    )  # fmt: skip


def _parse_link(
    values: dict[str, str], register: str, bus: str, is_denied: bool
) -> PcieLink | Skipped:
    if register in values:
        return pci.parse_link(values[register], register)
    if is_denied:
        return Skipped(f"lspci was not run as root: {register} of {bus} is denied")
    return Skipped(f"lspci shows no {register} of {bus}")


def _parse_record(text: str) -> _Function:
    """Read a record of ``-vmm``; ``Driver`` and ``NUMANode`` come with ``-k`` and ``-v``."""
    values = parse_pairs(text, ":")
    device_class, _, _ = _split_description(values.get("Class", "") + ": ")
    vendor, product = values.get("Vendor", ""), values.get("Device", "")
    codes = [name[-5:-1] for name in (vendor, product) if name.endswith("]") and name[-6:-5] == "["]
    numbers = ":".join(codes) if len(codes) == 2 else ""
    labels = {"Kernel driver in use": "Driver", "NUMA node": "NUMANode"}
    return _Function(
        pci.parse_address(values.get("Slot", "")) or "", device_class,
        read_text(_LSPCI, pci.strip_numbers(vendor)),
        _choose_product(pci.strip_numbers(product), numbers),
        {key: values.get(label, "") for key, label in labels.items()},
        numbers=numbers.lower(),
    )  # fmt: skip


def _make_adapter(function: _Function) -> Adapter:
    driver = function.values.get("Kernel driver in use", "")
    numa_node = function.values.get("NUMA node", "")
    return make_adapter(
        _LSPCI, pci.choose_kind(function.device_class, function.product, driver),
        bus=function.bus, vendor=function.vendor, product=function.product, driver=driver,
        numa_node=parse_whole(numa_node, "the NUMA node")
        if numa_node else Skipped("lspci names none"),
        **function.links,
    )  # fmt: skip


#: Vendors of adapters as pci.ids of 2024-11-25 names them: lspci prints vendor and product
#: without a sign between the two.
VENDORS = (
    "Intel Corporation", "Mellanox Technologies", "NVIDIA Corporation", "Red Hat, Inc.",
    "Broadcom Inc. and subsidiaries", "Broadcom Limited", "Broadcom Corporation",
    "Cornelis Networks, Inc", "Cornelis Networks", "Amazon.com, Inc.", "Cray Inc",
    "Hewlett Packard Enterprise", "Hewlett-Packard Company", "Chelsio Communications Inc",
    "QLogic Corp.", "QLogic, Corp.", "Cavium, Inc.", "Marvell Technology Group Ltd.",
    "Marvell Semiconductor (Israel) Ltd.", "Solarflare Communications", "Xilinx Corporation",
    "Emulex Corporation", "AMD Pensando Systems", "Pensando Systems",
    "Advanced Micro Devices, Inc. [AMD]", "Huawei Technologies Co., Ltd.", "Aquantia Corp.",
    "Realtek Semiconductor Co., Ltd.", "Microsoft Corporation", "Google, Inc.", "VMware",
    "Fungible", "Netronome Systems, Inc.", "Atos", "Bull", "Enfabrica", "Myricom Inc.",
)  # fmt: skip

_CODE = re.compile(r"\[([0-9a-fA-F]{4})\]$")
_DEVICE = re.compile(r"\[([0-9a-fA-F]{4}:[0-9a-fA-F]{4})\]$")
_BARE = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{4}")
_ASIDES = (" (rev ", " (prog-if ")


def _split_description(description: str) -> tuple[str, str | Skipped, str]:
    """Return class, vendor, product of ``Ethernet controller [0200]: Intel … [8086:1583]``."""
    class_name, _, name = description.partition(": ")
    code = _CODE.search(class_name[-8:])
    for aside in _ASIDES:
        name = name.rpartition(aside)[0] if aside in name else name
    numbers = _DEVICE.search(name[-12:])
    vendor, product = _split_vendor(pci.strip_numbers(name))
    product = _choose_product(product, numbers[1] if numbers else "")
    return code[1] if code else class_name, vendor, product


def _split_vendor(name: str) -> tuple[str | Skipped, str]:
    if _BARE.fullmatch(name[:20]):
        return Skipped("lspci gives numbers only"), name
    for vendor in VENDORS:
        if name.startswith(vendor + " "):
            return vendor, name[len(vendor) + 1 :]
    return Skipped("lspci gives vendor and product as one text, kept as the product"), name


def _choose_product(product: str, numbers: str) -> str:
    """Return the numbers of a product that the database lacks (``Device 0d57``), if printed."""
    return numbers if product.partition(" ")[0] in ("Device", "") else product


_LSHW = "lshw"

KEYS = frozenset(
    {"description", "product", "vendor", "physical id", "bus info", "logical name", "version",
     "date", "serial", "slot", "size", "capacity", "width", "clock", "capabilities",
     "configuration", "resources"}
)  # fmt: skip


def parse_lshw(text: str, argument: str = "") -> Parts:
    """Return adapters with bus, vendor, product, driver, firmware and interfaces.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``), ``ip of IFACE``.
    """
    devices, troubles = parse_entries(_LSHW, text, _parse_object, _parse_text)
    joined = _join_virtio(devices)
    # Virtual devices have neither.
    physical = [device for device in joined if device.get("bus info") or device.get("product")]
    facts: dict[str, str] = {}
    for device in physical:
        # lshw gives no figures for each of several interfaces.
        for name in device.interfaces if len(device.interfaces) == 1 else ():
            settings = device.settings
            facts |= make_speed_fact(name, settings.get("speed") or device.get("size"))
            facts |= {
                f"{key} of {name}": settings[key] for key in ("link", "ip") if key in settings
            }
    return Parts(
        adapters=tuple(map(_make_device_adapter, physical)), facts=facts, troubles=troubles
    )


class _Device(msgspec.Struct, frozen=True):
    """``values`` are by the text's keys; ``settings`` is its ``configuration``."""

    values: dict[str, str]
    interfaces: tuple[str, ...]
    settings: dict[str, str]

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _parse_object(entry: dict[str, object]) -> Iterator[_Device]:
    pending: list[object] = [entry]
    while pending:
        value = pending.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        pending += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            values = to_table(value)
            is_rate = value.get("units") == "bit/s" and "size" in values
            values["size"] = f"{values['size']}bit/s" if is_rate else ""
            values["bus info"] = values.get("businfo", "")
            interfaces = tuple(list_words(value.get("logicalname")))
            yield _Device(values, interfaces, to_table(value.get("configuration")))


def _parse_text(text: str) -> Iterator[_Device]:
    parent: int | None = None
    for (depth, name), body in split_blocks(text, _parse_head):
        if parent is not None and depth <= parent:
            parent = None
        if name.startswith("network") and parent is None:
            parent = depth
        values = _parse_values(body)
        first_values = {key: texts[0] for key, texts in values.items()}
        interfaces = tuple(values.get("logical name", ()))
        is_interface = interfaces and first_values.get("description", "").endswith(" interface")
        if parent is not None or is_interface:
            settings = parse_settings(first_values.get("configuration", ""))
            yield _Device(first_values, interfaces, settings)


def _parse_head(line: str) -> tuple[int, str] | None:
    """Return indentation and name of ``*-network:0``."""
    stripped = line.strip()
    if not stripped.startswith("*-"):
        return None
    return len(line) - len(line.lstrip()), stripped[2:].partition(" ")[0]


def _parse_values(body: str) -> dict[str, list[str]]:
    """Return all values by key; a line without a known key continues the one before it."""
    pieces: list[tuple[str, list[str]]] = []
    for line in filter(None, map(str.strip, body.split("\n"))):
        key, value = split_pair(line)
        if key in KEYS:
            pieces.append((key, [value]))
        elif pieces:
            pieces[-1][1].append(line)
    values: dict[str, list[str]] = {}
    for key, lines in pieces:
        values.setdefault(key, []).append(" ".join(lines))
    return values


def parse_settings(configuration: str) -> dict[str, str]:
    """Read ``driver=i40e firmware=5.04 0x8000253b latency=0``.

    A word without ``=`` continues the value before it.
    """
    settings: dict[str, list[str]] = {}
    key = ""
    for piece in configuration.split():
        name, equals, value = piece.partition("=")
        if equals and name.isascii() and name.replace("-", "").isalpha() and name not in settings:
            key = name
            settings[key] = [value]
        elif key:
            settings[key].append(piece)
    return {name: " ".join(pieces) for name, pieces in settings.items()}


def _join_virtio(devices: Iterable[_Device]) -> list[_Device]:
    """Join each virtio interface with the PCI device above it, which carries it."""
    joined: list[_Device] = []
    previous_bus = ""
    for device in devices:
        bus = device.get("bus info")
        if bus.startswith("virtio@") and previous_bus.startswith("pci@"):
            last = joined[-1]
            joined[-1] = _Device(
                {**last.values, "size": device.get("size") or last.get("size")},
                last.interfaces + device.interfaces, {**last.settings, **device.settings},
            )  # fmt: skip
        else:
            joined.append(device)
        previous_bus = bus
    return joined


def _make_device_adapter(device: _Device) -> Adapter:
    settings = device.settings
    driver, product = settings.get("driver", ""), pci.strip_numbers(device.get("product"))
    return make_adapter(
        _LSHW, pci.choose_kind(device.get("description"), product, driver),
        bus=pci.parse_bus(_LSHW, device.get("bus info").removeprefix("pci@")),
        vendor=pci.strip_numbers(device.get("vendor")), product=product, driver=driver,
        driver_version=settings.get("driverversion", ""), firmware=settings.get("firmware", ""),
        interfaces=device.interfaces,
    )  # fmt: skip


_QCU = "qcu64e"
CURRENT, SUPPORTED = "Current Configuration", "Supported Configurations"
#: ``1x40``, ``4x10``, ``2x2x10A``; text recognition may leave a capital X.
_MODE = re.compile(r"[0-9]{1,2}(?:[xX][0-9]{1,3}){1,3}[AB]?")


def parse_qcu(text: str, argument: str = "") -> Parts:
    """Return one adapter with ``lane_mode`` and ``lane_modes``.

    The reason why its bus is unknown quotes ``argument``: ``/NIC=1 /INFO``.
    """
    current, modes, in_list = "", list[str](), False
    for line in split_lines(text):
        key, value = split_pair(line)
        if key == CURRENT:
            current, in_list = value, False
        elif key == SUPPORTED:
            in_list = True
            modes += [_normalise_mode(word) for word in value.split() if _MODE.fullmatch(word)]
        elif in_list and _MODE.fullmatch(value):
            modes.append(_normalise_mode(value))
    if not current and not modes:
        return Parts(troubles=report_unrecognised(_QCU, text, recognised=False))
    unread = Skipped(f"qcu64e gives it as {current[:60]!r}")
    number = argument.strip()[:60] or "its own number"
    adapter = make_adapter(
        _QCU, "ethernet",
        bus=Skipped(f"qcu64e names the adapter by {number} only"),
        lane_mode=_normalise_mode(current) if _MODE.fullmatch(current) else unread,
        lane_modes=tuple(dict.fromkeys(modes)),
    )  # fmt: skip
    return Parts(adapters=(adapter,))


def _normalise_mode(text: str) -> str:
    return text.replace("X", "x")
