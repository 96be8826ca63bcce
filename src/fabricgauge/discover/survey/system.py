"""Sections on limits, memory, kernel and services → facts under the names of facts.md; pure."""

import re
from collections.abc import Callable, Iterator

from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.survey.firewall import firewall

#: Sites have thousands; a report needs to know of the MPIs among them.
MOST_MODULES = 2000

Facts = dict[str, str]

_SETTING = re.compile(r"\./([^/\s]+)/(rp_filter|arp_ignore|arp_announce|arp_filter):(-?\d{1,4})")
_IOMMU_TYPE = re.compile(r"\./(?:net|infiniband)/([^/\s]+)/device/iommu_group/type:([\w-]{1,20})")
_MODE = re.compile(r"\./([^/\s]+)/mode:(datagram|connected)")
_SHM = "/dev/shm"  # noqa: S108 what is measured, not where something is written
_SERVICE = re.compile(r"([A-Za-z0-9@_-]+)\.service")


def system_parts(sections: dict[str, str]) -> Parts:
    """Facts of every section that is there, and the loaded modules."""
    facts: Facts = {}
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


def _limits(text: str) -> Facts:
    found = re.search(r"^Max open files +(\d{1,19}|unlimited) ", text, re.MULTILINE)
    return {"max open files": found[1]} if found else {}


def _memory(text: str) -> Facts:
    found = re.search(r"^MemTotal: +(\d{1,15}) kB$", text, re.MULTILINE)
    return {"memory bytes": str(int(found[1]) * 1024)} if found else {}


def _shm(text: str) -> Facts:
    """df -kP: blocks of 1024 bytes in the second column (POSIX.1-2017, df)."""
    last = text.split("\n")[-1].split()
    if len(last) >= 6 and re.fullmatch(r"[0-9]{1,15}", last[1]) and last[-1] == _SHM:
        return {f"{_SHM} bytes": str(int(last[1]) * 1024)}
    return {}


def _command_line(text: str) -> Facts:
    return {"kernel command line": " ".join(text.split())}


def _release(text: str) -> Facts:
    """os-release(5): values may stand in quotes."""
    name = pairs(text, "=").get("PRETTY_NAME", "").strip("\"'")
    return {"os release": name} if name else {}


def _hosts(text: str) -> Facts:
    words = text.split()
    return {"hosts file": " ".join(words[:2])} if len(words) >= 2 else {}


def _iommu(text: str) -> Facts:
    return {"iommu groups": str(len(text.split()))}


def _iommu_types(text: str) -> Facts:
    """Of each interface's and RDMA device's group, whose names are never the same."""
    return {f"iommu type of {found[1]}": found[2] for found in _IOMMU_TYPE.finditer(text)}


def _user(text: str) -> Facts:
    return {"user id": text} if re.fullmatch(r"[0-9]{1,10}", text) else {}


def _machine(text: str) -> Facts:
    """systemd-detect-virt(1) prints ``none`` on bare metal."""
    word = text.strip()
    return {"virtual machine": word} if word and word != "none" else {}


def _settings(text: str) -> Facts:
    return {f"net.ipv4.conf.{m[1]}.{m[2]}": m[3] for m in _SETTING.finditer(text)}


def _modes(text: str) -> Facts:
    return {f"ipoib mode {found[1]}": found[2] for found in _MODE.finditer(text)}


def _services(text: str) -> Facts:
    """Blocks of ``systemctl show``: a unit that is not installed has no fact."""
    return dict(_service(pairs(block, "=")) for block in text.split("\n\n") if _known(block))


def _known(block: str) -> bool:
    values = pairs(block, "=")
    return values.get("LoadState") not in (None, "not-found") and bool(
        _SERVICE.fullmatch(values.get("Id", ""))
    )


def _service(values: Facts) -> tuple[str, str]:
    """What runs is ``active`` however it was started; what does not may be meant to."""
    state = values.get("ActiveState", "unknown")
    enabled = state != "active" and values.get("UnitFileState", "").startswith("enabled")
    name = values["Id"].removesuffix(".service")
    return f"service {name}", f"enabled {state}" if enabled else state


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
    "limits": _limits,
    "memory": _memory,
    "shm": _shm,
    "command-line": _command_line,
    "os-release": _release,
    "hosts": _hosts,
    "iommu": _iommu,
    "iommu-types": _iommu_types,
    "machine": _machine,
    "user": _user,
    "interface-settings": _settings,
    "ipoib": _modes,
    "module -t avail": _environment,
}
