"""What MPIs, UCX and libfabric say of themselves → their versions, paths and transports; pure.

``mpirun --version``, ``mpiexec.hydra --version`` and ``mpichversion`` as Open MPI 4.1 and 5.0,
MPICH 4.0 and 5.0 and Intel MPI 2021.18 print them; ``ompi_info`` with ``--parsable`` or without,
of Open MPI 4.1 and 5.0; ``ucx_info -d`` and ``-v`` of UCX 1.13, the version as of 1.16;
``fi_info``, ``-v``, ``-l`` and ``--version`` of libfabric 1.17.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.discover.printouts.lines import blocks, lines, pair, pairs, unrecognised
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.inventory import Stack

_MPIRUN = "mpirun"

#: Open MPI 4's launcher calls itself by its runtime where its file has another name.
_OPEN_MPI = re.compile(r"\S{1,60} \((?:Open MPI|OpenRTE)\) (\S{1,60})")

#: Open MPI 5's launcher under its own name.
_PRRTE = re.compile(r"\S{1,60} \(PRRTE\) (\S{1,60})")
_INTEL = re.compile(r"Intel\(R\) MPI Library for .{1,60}, Version (\S{1,60})")

#: What ``mpichversion`` and its descendants' ``mpiname`` call themselves.
_MPICH = {"MPICH Version": "mpich", "MVAPICH Version": "mvapich", "MVAPICH2 Version": "mvapich"}
_LONGEST = 300


def mpi_version(text: str, argument: str = "") -> Parts:
    """One row: ``openmpi``, ``mpich``, ``mvapich``, ``intelmpi`` or ``prrte``.

    Hydra gives the version of the MPICH that it came with; ``mpichversion`` alone tells a
    prefix.
    """
    first = next(_rows(text), None)
    return Parts(stacks=(first,) if first else (), troubles=unrecognised(_MPIRUN, text, first))


def _rows(text: str) -> Iterator[Stack]:
    hydra = False
    for line in lines(text):
        for pattern, kind in ((_OPEN_MPI, "openmpi"), (_PRRTE, "prrte"), (_INTEL, "intelmpi")):
            found = pattern.match(line[:_LONGEST])
            if found:
                yield Stack(kind, found[1], "")
        key, value = pair(line)
        hydra = hydra or key == "HYDRA build details"
        if key in _MPICH and value:
            configured = _after(text, "MPICH configure:").split()
            prefixes = [word for word in configured if word.startswith("--prefix=")]
            path = prefixes[-1].removeprefix("--prefix=") if prefixes else ""  # later ones count
            yield Stack(_MPICH[key], value, path)
        elif hydra and key == "Version" and value:
            yield Stack("mpich", value, "")


def _after(text: str, *starts: str) -> str:
    """What stands behind one of these at a line's beginning: the first that is not empty."""
    rests = (line[len(one) :] for line in lines(text) for one in starts if line.startswith(one))
    return next(filter(None, map(str.strip, rests)), "")


_OMPI_INFO = "ompi_info"

#: The frameworks that choose the network: point to point, byte transfer, matching, one-sided.
FRAMEWORKS = ("pml", "btl", "mtl", "osc")


def ompi_info(text: str, argument: str = "") -> Parts:
    """A row ``openmpi`` with its prefix.

    Fact ``openmpi components``: those of four frameworks, ``pml:ucx btl:tcp``, sorted.
    """
    bare = "\n".join(map(str.lstrip, lines(text)))
    version = _after(bare, "Open MPI:", "ompi:version:full:")
    if not version:
        return Parts(troubles=unrecognised(_OMPI_INFO, text, known=False))
    components = {one for line in lines(bare) for one in _components(line)}
    facts = {"openmpi components": " ".join(sorted(components))} if components else {}
    prefix = _after(bare, "Prefix:", "path:prefix:")
    return Parts(stacks=(Stack("openmpi", version, prefix),), facts=facts)


def _components(line: str) -> Iterator[str]:
    """``mca:btl:tcp:version:…`` or ``MCA btl: tcp (MCA v2.1.0, …)``."""
    kind, _, rest = line.strip()[:200].partition(":")
    name, _, after = rest.partition(":")
    if kind == "mca" and name in FRAMEWORKS and ":version" in after:
        yield f"{name}:{after.partition(':')[0]}"
    elif kind.startswith("MCA ") and kind[4:] in FRAMEWORKS and rest.split():
        yield f"{kind[4:]}:{rest.split()[0]}"


_UCX_INFO = "ucx_info"


def ucx_info(text: str, argument: str = "") -> Parts:
    """A row ``ucx`` of ``-v``; of ``-d`` a row ``ucx NAME`` for each transport.

    A transport's ``path`` is its devices, space separated.
    """
    version = _after(text, "# Version ", "# Library version: ")
    known = [Stack("ucx", version, _after(text, "# Library path: "))] if version else []
    devices: dict[str, dict[str, None]] = {}
    transport = ""
    for line in lines(text):
        key, value = pair(line.lstrip("# "))
        if key == "Transport":
            transport = value
            devices.setdefault(transport, {})
        elif key == "Device" and transport:
            devices[transport][value] = None
    known += [Stack(f"ucx {name}", version, " ".join(of)) for name, of in devices.items()]
    return Parts(stacks=tuple(known), troubles=unrecognised(_UCX_INFO, text, known))


_FI_INFO = "fi_info"


def fi_info(text: str, argument: str = "") -> Parts:
    """A row ``libfabric``, and a row ``ofi NAME`` for each provider.

    A provider's ``path`` is the domains that it found, space separated; none with ``-l``,
    which lists what was built, whether a device is there or not.
    """
    version = pairs("\n".join(lines(text)[:10]), ":").get("libfabric", "")
    rows = _verbose(text) if "prov_name:" in text else _brief(text)
    known = (Stack("libfabric", version, ""),) if version else _providers(rows)
    return Parts(stacks=known, troubles=unrecognised(_FI_INFO, text, known))


#: A provider's name, a domain of it, its version.
_Provider = tuple[str, str, str]


def _brief(text: str) -> Iterator[_Provider]:
    """``provider: NAME`` with its domain and version below; of ``-l``, ``NAME:``."""
    for (name,), body in blocks(text, _provider):
        of = pairs(body, ":")
        if "version" in of:
            yield name, of.get("domain", ""), of["version"]


def _provider(line: str) -> tuple[str] | None:
    key, value = pair(line)
    if key == "provider":
        return (value,)
    return (key,) if line[:1].strip() and key and not value else None


def _verbose(text: str) -> Iterator[_Provider]:
    """Blocks of ``fi_info:``; the domain's name is the first one below ``fi_domain_attr``."""
    group = ""
    for _, body in blocks(f"fi_info:\n{text}", lambda line: pair(line)[0] == "fi_info"):
        found: dict[str, str] = {}
        for key, value in map(pair, lines(body)):
            group = key if key.endswith("_attr") and not value else group
            found.setdefault(f"{group} {key}", value)
        wanted = ("fi_fabric_attr prov_name", "fi_domain_attr name", "fi_fabric_attr prov_version")
        name, domain, version = (found.get(key, "") for key in wanted)
        yield name, domain, version


def _providers(rows: Iterable[_Provider]) -> tuple[Stack, ...]:
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
