"""Which parser reads what: a row for each tool, found by the name of a file or a section."""

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from fabricgauge.discover.printouts import (
    ethtool,
    infiniband,
    lshw,
    lspci,
    mpi,
    nvidia_smi,
    opainfo,
    qcu,
    rocm_smi,
    routing,
)
from fabricgauge.discover.printouts.parts import Parts

Parser = Callable[[str, str], Parts]

#: The tool's name and a word that must stand among its arguments, if any.
PARSERS: dict[str, Parser] = {
    "ethtool": ethtool.parse,
    "fi_info": mpi.fi_info,
    "ibdev2netdev": infiniband.ibdev2netdev,
    "ibstat": infiniband.ibstat,
    "ibstatus": infiniband.ibstatus,
    "ibv_devinfo": infiniband.ibv_devinfo,
    "ip route": routing.routes,
    "ip rule": routing.rules,
    "lshw": lshw.parse,
    "lspci": lspci.parse,
    "mlxlink": infiniband.mlxlink,
    "mpichversion": mpi.mpi_version,
    "mpiexec": mpi.mpi_version,
    "mpiexec.hydra": mpi.mpi_version,
    "mpirun": mpi.mpi_version,
    "nvidia-smi": nvidia_smi.parse,
    "ompi_info": mpi.ompi_info,
    "opainfo": opainfo.parse,
    "perfquery": infiniband.perfquery,
    "qcu64e": qcu.parse,
    "rdma dev": infiniband.rdma,
    "rdma link": infiniband.rdma,
    "rocm-smi": rocm_smi.parse,
    "show_gids": infiniband.show_gids,
    "ucx_info": mpi.ucx_info,
}

_SUFFIXES = (".txt", ".out", ".json", ".csv", ".log")
_BETWEEN = re.compile(r"[-_ ]+")
#: Options in a file's name, before an interface: ``-i-eth0``, ``--json-eth0``.
_OPTIONS = re.compile(r"((?:[-_ ]+(?:[A-Za-z]|json))*)[-_ ]+(.*)", re.DOTALL)
_LONGEST = 300
_LONGEST_FIRST = sorted(PARSERS, key=len, reverse=True)
#: Like nodes print the same: what is no longer than this is read once for all of them.
_SHORT = 1 << 16


class PrintoutName(msgspec.Struct, frozen=True):
    """A row's key, and what stood behind the tool's name, as on a command line."""

    tool: str
    argument: str


def parse_named(name: str, text: str) -> Parts | None:
    """What the printout called ``name`` says; None where no row reads it.

    ``name`` is a command line (``lshw -class network``, ``./qcu64e /NIC=1 /INFO``) or a
    file's path, whose name is such a line with other signs for the blanks
    (``host/ethtool-i-eth0.txt``, ``rdma_-j_link.txt``).
    """
    found = recognised(name)
    if found is None:
        return None
    parse = _parsed if len(text) <= _SHORT else _parsed.__wrapped__
    return parse(found, text)


@lru_cache(maxsize=512)
def _parsed(found: PrintoutName, text: str) -> Parts:
    return PARSERS[found.tool](text, found.argument)


@lru_cache(maxsize=4096)
def recognised(name: str) -> PrintoutName | None:
    """The row for a printout of that name."""
    first, middle, rest = name.strip()[:_LONGEST].partition(" ")
    stem = first.rpartition("/")[2]
    if not middle:
        stem = next((stem.removesuffix(end) for end in _SUFFIXES if stem.endswith(end)), stem)
    for key in _LONGEST_FIRST:
        tool, _, needed = key.partition(" ")
        after = stem[len(tool) :] if stem.startswith(tool) else None
        if after is None or after[:1].isalnum():
            continue
        whole = f"{after} {rest}" if middle else after
        if not needed or needed in _BETWEEN.split(whole):
            return PrintoutName(key, rest.strip() if middle else _argument(after))
    return None


def _argument(after: str) -> str:
    """``-i eth0`` of ``-i-eth0``; an interface may have hyphens, so the rest stays whole."""
    found = _OPTIONS.fullmatch(after)
    if found is None:
        return ""
    options = _BETWEEN.split(found[1])[1:]
    return " ".join([*(f"-{one}" for one in options), found[2]])
