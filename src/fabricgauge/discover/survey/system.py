"""Sections on limits, memory, kernel and services → facts under the names of facts.md; pure."""

import re
from collections.abc import Callable, Iterator

import msgspec

from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.survey.firewall import firewall

#: Sites have thousands; a report needs to know of the MPIs among them.
MOST_MODULES = 2000

Facts = dict[str, str]


class FactPattern(msgspec.Struct, frozen=True):
    """What is looked for in a section, and the fact's name and value as templates of ``re``.

    ``unit_bytes`` is what a figure of the section counts, where the fact is in bytes.
    """

    section: str
    pattern: re.Pattern[str]
    name: str
    value: str = r"\1"
    unit_bytes: int = 0


def _row(section: str, pattern: str, name: str, value: str = r"\1", unit: int = 0) -> FactPattern:
    return FactPattern(section, re.compile(pattern, re.MULTILINE), name, value, unit)


#: df -kP: blocks of 1024 bytes in the second column (POSIX.1-2017, df). os-release(5): values may
#: stand in quotes. Of each interface's and RDMA device's IOMMU group; their names are never the
#: same.
_PATTERNS = (
    _row("limits", r"^Max open files +(\d{1,19}|unlimited) ", "max open files"),
    _row("memory", r"^MemTotal: +(\d{1,15}) kB$", "memory bytes", unit=1024),
    _row("shm", r"^\S+ +([0-9]{1,15})(?: +\S+){3,9} +(/dev/shm)\Z", r"\2 bytes", unit=1024),
    _row("os-release", r"^PRETTY_NAME=[\"']*([^\"'\n]+)", "os release"),
    _row("hosts", r"\A\s*(\S+)\s+(\S+)", "hosts file", r"\1 \2"),
    _row("iommu-types", r"\./(?:net|infiniband)/([^/\s]+)/device/iommu_group/type:([\w-]{1,20})",
         r"iommu type of \1", r"\2"),
    _row("user", r"\A([0-9]{1,10})\Z", "user id"),
    _row("interface-settings",
         r"\./([^/\s]+)/(rp_filter|arp_ignore|arp_announce|arp_filter):(-?\d{1,4})",
         r"net.ipv4.conf.\1.\2", r"\3"),
    _row("ipoib", r"\./([^/\s]+)/mode:(datagram|connected)", r"ipoib mode \1", r"\2"),
)  # fmt: skip

_SERVICE = re.compile(r"([A-Za-z0-9@_-]+)\.service")


def system_parts(sections: dict[str, str]) -> Parts:
    """Facts of every section that is there, and the loaded modules."""
    facts: Facts = {}
    for row in _PATTERNS:
        for found in row.pattern.finditer(sections.get(row.section, "")):
            value = found.expand(row.value)
            known = str(int(value) * row.unit_bytes) if row.unit_bytes else value
            facts.setdefault(found.expand(row.name), known)
    for name, text in sections.items():
        if name in _READERS:
            facts.update(_READERS[name](text))
        elif name.startswith("systemctl show "):
            facts.update(_services(text))
        elif name.startswith("irqs "):
            facts.update(_interrupts(name.removeprefix("irqs "), text))
    facts.update(firewall(sections.get("nft"), sections.get("iptables")))
    if "hypervisor" in sections:
        facts.setdefault("virtual machine", sections["hypervisor"].strip())
    return Parts(facts=facts, modules=_modules(sections.get("lsmod", "")))


def _machine(text: str) -> Facts:
    """systemd-detect-virt(1) prints ``none`` on bare metal."""
    word = text.strip()
    return {"virtual machine": word} if word and word != "none" else {}


def _services(text: str) -> Facts:
    """Blocks of ``systemctl show``: a unit that is not installed has no fact.

    What runs is ``active`` however it was started; what does not may be meant to.
    """
    facts: Facts = {}
    for values in (pairs(block, "=") for block in text.split("\n\n")):
        unit = _SERVICE.fullmatch(values.get("Id", ""))
        if unit is None or values.get("LoadState") in (None, "not-found"):
            continue
        state = values.get("ActiveState", "unknown")
        enabled = state != "active" and values.get("UnitFileState", "").startswith("enabled")
        facts[f"service {unit[1]}"] = f"enabled {state}" if enabled else state
    return facts


def _interrupts(interface: str, text: str) -> Facts:
    """``12 on 4 processors``: how many interrupts, and how many processors serve them."""
    lines = re.findall(r"^\d+/effective_affinity_list:([\d,-]+)$", text, re.MULTILINE)
    served = {number for one in lines for number in _numbers(one)}
    if not lines:
        return {}
    plural = "" if len(served) == 1 else "s"
    return {f"irqs of {interface}": f"{len(lines)} on {len(served)} processor{plural}"}


def _numbers(text: str) -> Iterator[int]:
    """``0-3,7`` as numbers, at most 4096 of a range."""
    for found in re.finditer(r"(?:^|,)([0-9]{1,6})(?:-([0-9]{1,6}))?(?=,|$)", text):
        first, last = int(found[1]), int(found[2] or found[1])
        yield from range(first, min(last, first + 4095) + 1)


def _environment(text: str) -> Facts:
    """``module -t avail``: a line that ends in a colon names a folder, not a module."""
    names = [line.strip() for line in text.split("\n") if not line.rstrip().endswith(":")]
    known = [name for name in names if re.fullmatch(r"\S{1,100}", name)]
    return {"environment modules": " ".join(known[:MOST_MODULES])} if known else {}


def _modules(text: str) -> tuple[str, ...]:
    names = (line.split(" ", 1)[0] for line in text.split("\n"))
    return tuple(sorted({name for name in names if re.fullmatch(r"\w{1,64}", name)}))


_READERS: dict[str, Callable[[str], Facts]] = {
    "command-line": lambda text: {"kernel command line": " ".join(text.split())},
    "iommu": lambda text: {"iommu groups": str(len(text.split()))},
    "machine": _machine,
    "module -t avail": _environment,
}
