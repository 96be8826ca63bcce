"""The parsers of printouts: a row for each tool, found by the name of a file or a section."""

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from fabricgauge.nodes.discover.printouts import (
    adapters,
    ethtool,
    gpus,
    infiniband,
    ip,
    mpi,
    opainfo,
)
from fabricgauge.nodes.discover.printouts.parsing import Parts

Parser = Callable[[str, str], Parts]

#: The tool's name and a word that must be among its arguments, if any.
PARSERS: dict[str, Parser] = {
    "ethtool": ethtool.parse,
    "fi_info": mpi.parse_fi_info,
    "ibdev2netdev": infiniband.parse_ibdev2netdev,
    "ibstat": infiniband.parse_ibstat,
    "ibstatus": infiniband.parse_ibstatus,
    "ibv_devinfo": infiniband.parse_ibv_devinfo,
    "ip a": ip.parse_interfaces,
    "ip addr": ip.parse_interfaces,
    "ip address": ip.parse_interfaces,
    "ip link": ip.parse_interfaces,
    "ip route": ip.parse_routes,
    "ip rule": ip.parse_rules,
    "lshw": adapters.parse_lshw,
    "lspci": adapters.parse_lspci,
    "mlxlink": infiniband.parse_mlxlink,
    "mpichversion": mpi.parse_mpi_version,
    "mpiexec": mpi.parse_mpi_version,
    "mpiexec.hydra": mpi.parse_mpi_version,
    "mpirun": mpi.parse_mpi_version,
    "nvidia-smi": gpus.parse_nvidia_smi,
    "ompi_info": mpi.parse_ompi_info,
    "opainfo": opainfo.parse,
    "perfquery": infiniband.parse_perfquery,
    "qcu64e": adapters.parse_qcu,
    "rdma dev": infiniband.parse_rdma,
    "rdma link": infiniband.parse_rdma,
    "rocm-smi": gpus.parse_rocm_smi,
    "show_gids": infiniband.parse_show_gids,
    "ucx_info": mpi.parse_ucx_info,
}

_SUFFIXES = (".txt", ".out", ".json", ".csv", ".log")
_BETWEEN = re.compile(r"[-_ ]+")
#: Options in a file's name, before an interface: ``-i-eth0``, ``--json-eth0``.
_OPTIONS = re.compile(r"((?:[-_ ]+(?:[A-Za-z]|json))*)[-_ ]+(.*)", re.DOTALL)
_MAX_NAME = 300
_LONGEST_FIRST = sorted(PARSERS, key=len, reverse=True)
#: Like nodes print the same text: up to this length it is parsed once for all of them.
_SHORT = 1 << 16


class PrintoutName(msgspec.Struct, frozen=True):
    """A row's key, and the text behind the tool's name, as on a command line."""

    tool: str
    argument: str


def parse_named(name: str, text: str) -> Parts | None:
    """Return the content of the printout called ``name``; None if no row parses it.

    ``name`` is a command line (``lshw -class network``, ``./qcu64e /NIC=1 /INFO``) or a
    file's path, whose name is such a line with other signs for the blanks
    (``host/ethtool-i-eth0.txt``, ``rdma_-j_link.txt``).
    """
    printout = recognise_name(name)
    if printout is None:
        return None
    parse = _parse_cached if len(text) <= _SHORT else _parse_cached.__wrapped__
    return parse(printout, text)


@lru_cache(maxsize=512)
def _parse_cached(printout: PrintoutName, text: str) -> Parts:
    return PARSERS[printout.tool](text, printout.argument)


@lru_cache(maxsize=4096)
def recognise_name(name: str) -> PrintoutName | None:
    command, blank, arguments = name.strip()[:_MAX_NAME].partition(" ")
    stem = command.rpartition("/")[2]
    if not blank:
        stem = next((stem.removesuffix(end) for end in _SUFFIXES if stem.endswith(end)), stem)
    for key in _LONGEST_FIRST:
        tool, _, required = key.partition(" ")
        suffix = stem[len(tool) :] if stem.startswith(tool) else None
        if suffix is None or suffix[:1].isalnum():
            continue
        words = f"{suffix} {arguments}" if blank else suffix
        if not required or required in _BETWEEN.split(words):
            return PrintoutName(key, arguments.strip() if blank else _parse_argument(suffix))
    return None


def _parse_argument(suffix: str) -> str:
    """Return ``-i eth0`` for ``-i-eth0``; hyphens in the interface's name stay."""
    match = _OPTIONS.fullmatch(suffix)
    if match is None:
        return ""
    options = _BETWEEN.split(match[1])[1:]
    return " ".join([*(f"-{option}" for option in options), match[2]])
