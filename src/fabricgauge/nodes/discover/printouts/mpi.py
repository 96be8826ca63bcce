"""Printouts of MPIs, UCX and libfabric → their versions, paths and transports; pure.

``mpirun --version``, ``mpiexec.hydra --version`` and ``mpichversion`` as Open MPI 4.1 and 5.0,
MPICH 4.0 and 5.0 and Intel MPI 2021.18 print them; ``ompi_info`` with ``--parsable`` or without,
of Open MPI 4.1 and 5.0; ``ucx_info -d`` and ``-v`` of UCX 1.13, the version as of 1.16;
``fi_info``, ``-v``, ``-l`` and ``--version`` of libfabric 1.17.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.model.inventory import Stack
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    parse_pairs,
    report_unrecognised,
    split_blocks,
    split_lines,
    split_pair,
)

_MPIRUN = "mpirun"

#: Open MPI 4's launcher prints its runtime's name if its file has another name.
_OPEN_MPI = re.compile(r"\S{1,60} \((?:Open MPI|OpenRTE)\) (\S{1,60})")

#: Open MPI 5's launcher under its own name.
_PRRTE = re.compile(r"\S{1,60} \(PRRTE\) (\S{1,60})")
_INTEL = re.compile(r"Intel\(R\) MPI Library for .{1,60}, Version (\S{1,60})")

#: Names that ``mpichversion`` and its descendants' ``mpiname`` print.
_MPICH = {"MPICH Version": "mpich", "MVAPICH Version": "mvapich", "MVAPICH2 Version": "mvapich"}
_MAX_LINE = 300


def parse_mpi_version(text: str, argument: str = "") -> Parts:
    """Return one row: ``openmpi``, ``mpich``, ``mvapich``, ``intelmpi`` or ``prrte``.

    Hydra gives the version of the MPICH that it came with; only ``mpichversion`` gives a prefix.
    """
    stack = next(_list_versions(text), None)
    return Parts(
        stacks=(stack,) if stack else (), troubles=report_unrecognised(_MPIRUN, text, stack)
    )


def _list_versions(text: str) -> Iterator[Stack]:
    is_hydra = False
    for line in split_lines(text):
        for pattern, kind in ((_OPEN_MPI, "openmpi"), (_PRRTE, "prrte"), (_INTEL, "intelmpi")):
            match = pattern.match(line[:_MAX_LINE])
            if match:
                yield Stack(kind, match[1], "")
        key, value = split_pair(line)
        is_hydra = is_hydra or key == "HYDRA build details"
        if key in _MPICH and value:
            options = _find_text(text, "MPICH configure:").split()
            prefixes = [word for word in options if word.startswith("--prefix=")]
            path = prefixes[-1].removeprefix("--prefix=") if prefixes else ""  # the last counts
            yield Stack(_MPICH[key], value, path)
        elif is_hydra and key == "Version" and value:
            yield Stack("mpich", value, "")


def _find_text(text: str, *labels: str) -> str:
    """Return the first text that is not empty behind one of the labels at a line's beginning."""
    texts = (
        line[len(label) :]
        for line in split_lines(text)
        for label in labels
        if line.startswith(label)
    )
    return next(filter(None, map(str.strip, texts)), "")


_OMPI_INFO = "ompi_info"

#: The frameworks that choose the network: point to point, byte transfer, matching, one-sided.
FRAMEWORKS = ("pml", "btl", "mtl", "osc")


def parse_ompi_info(text: str, argument: str = "") -> Parts:
    """Return a row ``openmpi`` with its prefix.

    Fact ``openmpi components``: those of four frameworks, ``pml:ucx btl:tcp``, sorted.
    """
    unindented = "\n".join(map(str.lstrip, split_lines(text)))
    version = _find_text(unindented, "Open MPI:", "ompi:version:full:")
    if not version:
        return Parts(troubles=report_unrecognised(_OMPI_INFO, text, recognised=False))
    components: set[str] = set()
    for line in split_lines(unindented):  # mca:btl:tcp:version:… or MCA btl: tcp (MCA v2.1.0, …)
        kind, _, value = line.strip()[:200].partition(":")
        name, _, component = value.partition(":")
        if kind == "mca" and name in FRAMEWORKS and ":version" in component:
            components.add(f"{name}:{component.partition(':')[0]}")
        elif kind.startswith("MCA ") and kind[4:] in FRAMEWORKS and value.split():
            components.add(f"{kind[4:]}:{value.split()[0]}")
    facts = {"openmpi components": " ".join(sorted(components))} if components else {}
    prefix = _find_text(unindented, "Prefix:", "path:prefix:")
    return Parts(stacks=(Stack("openmpi", version, prefix),), facts=facts)


_UCX_INFO = "ucx_info"


def parse_ucx_info(text: str, argument: str = "") -> Parts:
    """Return a row ``ucx`` for ``-v``; for ``-d`` a row ``ucx NAME`` for each transport.

    A transport's ``path`` is its devices, space separated.
    """
    version = _find_text(text, "# Version ", "# Library version: ")
    stacks = [Stack("ucx", version, _find_text(text, "# Library path: "))] if version else []
    devices: dict[str, dict[str, None]] = {}
    transport = ""
    for line in split_lines(text):
        key, value = split_pair(line.lstrip("# "))
        if key == "Transport":
            transport = value
            devices.setdefault(transport, {})
        elif key == "Device" and transport:
            devices[transport][value] = None
    stacks += [Stack(f"ucx {name}", version, " ".join(names)) for name, names in devices.items()]
    return Parts(stacks=tuple(stacks), troubles=report_unrecognised(_UCX_INFO, text, stacks))


_FI_INFO = "fi_info"


def parse_fi_info(text: str, argument: str = "") -> Parts:
    """Return a row ``libfabric``, and a row ``ofi NAME`` for each provider.

    A provider's ``path`` is the domains that it found, space separated; none with ``-l``,
    which lists the providers that were built, with or without a device.
    """
    version = parse_pairs("\n".join(split_lines(text)[:10]), ":").get("libfabric", "")
    rows = _parse_verbose(text) if "prov_name:" in text else _parse_brief(text)
    stacks = (Stack("libfabric", version, ""),) if version else _join_providers(rows)
    return Parts(stacks=stacks, troubles=report_unrecognised(_FI_INFO, text, stacks))


#: A provider's name, a domain of it, its version.
_Provider = tuple[str, str, str]


def _parse_brief(text: str) -> Iterator[_Provider]:
    """Read ``provider: NAME`` with its domain and version below; with ``-l``, ``NAME:``."""
    for (name,), body in split_blocks(text, _parse_provider):
        values = parse_pairs(body, ":")
        if "version" in values:
            yield name, values.get("domain", ""), values["version"]


def _parse_provider(line: str) -> tuple[str] | None:
    key, value = split_pair(line)
    if key == "provider":
        return (value,)
    return (key,) if line[:1].strip() and key and not value else None


def _parse_verbose(text: str) -> Iterator[_Provider]:
    """Read blocks of ``fi_info:``; the domain's name is the first below ``fi_domain_attr``."""
    group = ""
    for _, body in split_blocks(f"fi_info:\n{text}", lambda line: split_pair(line)[0] == "fi_info"):
        values: dict[str, str] = {}
        for key, value in map(split_pair, split_lines(body)):
            group = key if key.endswith("_attr") and not value else group
            values.setdefault(f"{group} {key}", value)
        keys = ("fi_fabric_attr prov_name", "fi_domain_attr name", "fi_fabric_attr prov_version")
        name, domain, version = (values.get(key, "") for key in keys)
        yield name, domain, version


def _join_providers(rows: Iterable[_Provider]) -> tuple[Stack, ...]:
    versions: dict[str, str] = {}
    domains: dict[str, dict[str, None]] = {}
    for name, domain, version in rows:
        if name:
            versions.setdefault(name, version)
            domains.setdefault(name, {})[domain] = None
    return tuple(
        Stack(f"ofi {name}", version, " ".join(filter(None, domains[name])))
        for name, version in versions.items()
    )
