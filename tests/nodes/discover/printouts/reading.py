"""Fixtures of printouts, read."""

from pathlib import Path

from fabricgauge.model.inventory import Adapter, RdmaPort
from fabricgauge.nodes.discover.printouts.parsing import Parts
from fabricgauge.nodes.discover.printouts.table import PARSERS

FIXTURES = Path(__file__).parents[3] / "fixtures"
FOLDERS = (
    "ethtool", "fi_info", "ibdev2netdev", "ibstat", "ibstatus", "ibv_devinfo", "ip_addr",
    "ip_route", "ip_rule", "lshw", "lspci", "mlxlink", "mpi_version", "nvidia-smi", "ompi_info",
    "opainfo", "qcu", "rdma", "rocm-smi", "show_gids", "ucx_info",
)  # fmt: skip
_PARSERS = {
    "ip_addr": "ip addr",
    "ip_route": "ip route",
    "ip_rule": "ip rule",
    "mpi_version": "mpirun",
    "qcu": "qcu64e",
    "rdma": "rdma link",
}


def raw(folder: str, case: str) -> str:
    return (FIXTURES / folder / f"{case}.out").read_text("utf-8")


def parse(folder: str, text: str, argument: str = "") -> Parts:
    return PARSERS[_PARSERS.get(folder, folder)](text, argument)


def read(folder: str, case: str, argument: str = "") -> Parts:
    return parse(folder, raw(folder, case), argument)


def only_adapter(parts: Parts) -> Adapter:
    (adapter,) = parts.adapters
    return adapter


def port(parts: Parts, device: str, number: int = 1) -> RdmaPort:
    (found,) = [one for one in parts.rdma_ports if (one.device, one.number) == (device, number)]
    return found
