"""``fi_info``, ``-v``, ``-l``, ``--version`` → libfabric and its providers; pure.

As libfabric 1.17 prints them.
"""

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.inventory import Stack

TOOL = "fi_info"


def parse(text: str, argument: str = "") -> Parts:
    """A row ``libfabric``, and a row ``ofi NAME`` for each provider.

    A provider's ``path`` is the domains that it found, space separated; none with ``-l``,
    which lists what was built, whether a device is there or not.
    """
    known = _version(text) or (_verbose(text) if "prov_name:" in text else _brief(text))
    return Parts(stacks=known, troubles=unrecognised(TOOL, text, known))


def _version(text: str) -> tuple[Stack, ...]:
    values = dict(pair(line) for line in lines(text)[:10])
    version = values.get("libfabric", "")
    return (Stack("libfabric", version, ""),) if version else ()


def _brief(text: str) -> tuple[Stack, ...]:
    """``provider: NAME`` with its domain and version below; of ``-l``, ``NAME:``."""
    found: list[dict[str, str]] = []
    for line in lines(text):
        key, value = pair(line)
        if key == "provider":
            found.append({"name": value})
        elif line[:1].strip() and key and not value:
            found.append({"name": key})
        elif found:
            found[-1].setdefault(key, value)
    return _providers([one for one in found if "version" in one], "name", "domain", "version")


def _verbose(text: str) -> tuple[Stack, ...]:
    """Blocks of ``fi_info:``; the domain's name is the first one below ``fi_domain_attr``."""
    found: list[dict[str, str]] = []
    group = ""
    for line in lines(text):
        key, value = pair(line)
        if key == "fi_info" or not found:
            found.append({})
        if key.endswith("_attr") and not value:
            group = key
        found[-1].setdefault(f"{group} {key}", value)
    fabric = "fi_fabric_attr"
    return _providers(found, f"{fabric} prov_name", "fi_domain_attr name", f"{fabric} prov_version")


def _providers(
    found: list[dict[str, str]], name: str, domain: str, version: str
) -> tuple[Stack, ...]:
    versions: dict[str, str] = {}
    domains: dict[str, dict[str, None]] = {}
    for one in found:
        if one.get(name):
            versions.setdefault(one[name], one.get(version, ""))
            domains.setdefault(one[name], {}).update(dict.fromkeys([one.get(domain, "")]))
    return tuple(
        Stack(f"ofi {known}", versions[known], " ".join(filter(None, domains[known])))
        for known in versions
    )
