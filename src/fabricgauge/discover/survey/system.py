"""Sections on limits, memory, kernel and services → facts under the names of facts.md; pure."""

import re
from collections.abc import Callable, Iterator

from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.survey.firewall import firewall

#: Sites have thousands; a report needs to know of the MPIs among them.
MOST_MODULES = 2000

Facts = dict[str, str]


#: A section, what is looked for in it, the fact's name and value as templates of ``re``, and what
#: a figure of the section counts in bytes, where the fact is in bytes.
#: df -kP: blocks of 1024 bytes in the second column (POSIX.1-2017, df). os-release(5): values may
#: stand in quotes. Of each interface's and RDMA device's IOMMU group; their names are never the
#: same. /proc/driver/nvidia/version: NVIDIA's open modules say that they are (from 515 on).
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


def system_parts(sections: dict[str, str]) -> Parts:
    """Facts of every section that is there, and the loaded modules."""
    facts: Facts = {}
    for section, pattern, name, value, unit_bytes in _PATTERNS:
        for found in re.finditer(pattern, sections.get(section, ""), re.MULTILINE):
            told = found.expand(value)
            told = str(int(told) * unit_bytes) if unit_bytes else told
            facts.setdefault(found.expand(name), told)
    for name, text in sections.items():
        if name in _READERS:
            facts.update(_READERS[name](text))
        elif name.startswith("systemctl show "):
            facts.update(_services(text))
        elif name.startswith("irqs "):
            facts.update(_interrupts(name.removeprefix("irqs "), text))
    facts.update(firewall(sections.get("nft"), sections.get("iptables")))
    # module(1) ends a folder's name with a colon.
    if known := re.findall(
        r"^[^\S\n]*(\S{0,99}[^\s:])[^\S\n]*$", sections.get("module -t avail", ""), re.M
    ):
        facts["environment modules"] = " ".join(known[:MOST_MODULES])
    loaded = re.findall(r"^(\w{1,64})(?: |$)", sections.get("lsmod", ""), re.MULTILINE)
    return Parts(facts=facts, modules=tuple(sorted({*loaded})))


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


_READERS: dict[str, Callable[[str], Facts]] = {
    "command-line": lambda text: {"kernel command line": " ".join(text.split())},
    "iommu": lambda text: {"iommu groups": str(len(text.split()))},
}
