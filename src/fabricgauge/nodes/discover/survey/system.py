"""Sections on limits, memory, kernel and services → facts under the names of facts.md; pure."""

import re
from collections.abc import Callable, Iterator

from fabricgauge.nodes.discover.printouts.lines import parse_pairs
from fabricgauge.nodes.discover.printouts.parts import Parts
from fabricgauge.nodes.discover.survey.firewall import parse_firewall

#: Sites have thousands; a report needs the MPIs among them.
MAX_MODULES = 2000

Facts = dict[str, str]


#: A section, the pattern to find in it, the fact's name and value as templates of ``re``, and the
#: unit of a figure in bytes, if the fact is in bytes.
#: df -kP: blocks of 1024 bytes in the second column (POSIX.1-2017, df). os-release(5): values may
#: be quoted. iommu-types: the IOMMU group of each interface and RDMA device; their names are never
#: the same. /proc/driver/nvidia/version: NVIDIA's open modules have "Open" in it (from 515 on).
_PATTERNS = (
    ("limits", r"^Max open files +(\d{1,19}|unlimited) ", "max open files", r"\1", 0),
    ("memory", r"^MemTotal: +(\d{1,15}) kB$", "memory bytes", r"\1", 1024),
    ("shm", r"^\S+ +([0-9]{1,15})(?: +\S+){3,9} +(/dev/shm)\Z", r"\2 bytes", r"\1", 1024),
    ("os-release", r"^PRETTY_NAME=[\"']*([^\"'\n]+)", "os release", r"\1", 0),
    ("hosts", r"\A\s*(\S+)\s+(\S+)", "hosts file", r"\1 \2", 0),
    ("iommu-types", r"\./(?:net|infiniband)/([^/\s]+)/device/iommu_group/type:([\w-]{1,20})",
     r"iommu type of \1", r"\2", 0),
    ("machine", r"\A\s*(?!none\s*\Z)([\w-]{1,60})\s*\Z", "virtual machine", r"\1", 0),
    ("hypervisor", r"\A\s*(\S+)\s*\Z", "virtual machine", r"\1", 0),
    ("nvidia-driver", r"^NVRM version: NVIDIA UNIX (?!Open)\S+ +Kernel Module +(\d[\d.]{2,20})",
     "nvidia driver", r"\1", 0),
    ("nvidia-driver", r"^NVRM version: NVIDIA UNIX Open Kernel Module for \S+ +(\d[\d.]{2,20})",
     "nvidia driver", r"\1 open", 0),
    ("user", r"\A([0-9]{1,10})\Z", "user id", r"\1", 0),
    ("interface-settings",
     r"\./([^/\s]+)/(rp_filter|arp_ignore|arp_announce|arp_filter):(-?\d{1,4})",
     r"net.ipv4.conf.\1.\2", r"\3", 0),
    ("ipoib", r"\./([^/\s]+)/mode:(datagram|connected)", r"ipoib mode \1", r"\2", 0),
)  # fmt: skip

_SERVICE = re.compile(r"([A-Za-z0-9@_-]+)\.service")


def parse_system(sections: dict[str, str]) -> Parts:
    facts: Facts = {}
    for section, pattern, name, value, unit_bytes in _PATTERNS:
        for match in re.finditer(pattern, sections.get(section, ""), re.MULTILINE):
            text = match.expand(value)
            text = str(int(text) * unit_bytes) if unit_bytes else text
            facts.setdefault(match.expand(name), text)
    for name, text in sections.items():
        if name in _READERS:
            facts.update(_READERS[name](text))
        elif name.startswith("systemctl show "):
            facts.update(_parse_services(text))
        elif name.startswith("irqs "):
            facts.update(_parse_interrupts(name.removeprefix("irqs "), text))
    facts.update(parse_firewall(sections.get("nft"), sections.get("iptables")))
    # module(1) ends a folder's name with a colon.
    if available := re.findall(
        r"^[^\S\n]*(\S{0,99}[^\s:])[^\S\n]*$", sections.get("module -t avail", ""), re.M
    ):
        facts["environment modules"] = " ".join(available[:MAX_MODULES])
    loaded = re.findall(r"^(\w{1,64})(?: |$)", sections.get("lsmod", ""), re.MULTILINE)
    return Parts(facts=facts, modules=tuple(sorted({*loaded})))


def _parse_services(text: str) -> Facts:
    """Read blocks of ``systemctl show``: a unit that is not installed has no fact.

    A running unit is ``active``; a stopped one may be ``enabled``, and so expected to run.
    """
    facts: Facts = {}
    for values in (parse_pairs(block, "=") for block in text.split("\n\n")):
        unit = _SERVICE.fullmatch(values.get("Id", ""))
        if unit is None or values.get("LoadState") in (None, "not-found"):
            continue
        state = values.get("ActiveState", "unknown")
        is_enabled = state != "active" and values.get("UnitFileState", "").startswith("enabled")
        facts[f"service {unit[1]}"] = f"enabled {state}" if is_enabled else state
    return facts


def _parse_interrupts(interface: str, text: str) -> Facts:
    """Return ``12 on 4 processors``: the number of interrupts and of processors that serve them."""
    lists = re.findall(r"^\d+/effective_affinity_list:([\d,-]+)$", text, re.MULTILINE)
    processors = {number for ranges in lists for number in _parse_ranges(ranges)}
    if not lists:
        return {}
    plural = "" if len(processors) == 1 else "s"
    return {f"irqs of {interface}": f"{len(lists)} on {len(processors)} processor{plural}"}


def _parse_ranges(text: str) -> Iterator[int]:
    """Yield the numbers of ``0-3,7``, at most 4096 of a range."""
    for match in re.finditer(r"(?:^|,)([0-9]{1,6})(?:-([0-9]{1,6}))?(?=,|$)", text):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, min(last, first + 4095) + 1)


_READERS: dict[str, Callable[[str], Facts]] = {
    "command-line": lambda text: {"kernel command line": " ".join(text.split())},
    "iommu": lambda text: {"iommu groups": str(len(text.split()))},
}
