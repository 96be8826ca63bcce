"""The checks, one row each, from the basic to what builds on it."""

from fabricgauge.doctor.check import Check
from fabricgauge.doctor.checks.addresses import ADDRESSES
from fabricgauge.doctor.checks.carried import CARRIED
from fabricgauge.doctor.checks.connect import CONNECT
from fabricgauge.doctor.checks.counters import COUNTERS
from fabricgauge.doctor.checks.echoes import MTU, PING
from fabricgauge.doctor.checks.firewall import FIREWALL
from fabricgauge.doctor.checks.gids import GIDS
from fabricgauge.doctor.checks.gpus import GPU
from fabricgauge.doctor.checks.hardware import ACS, ADAPTERS, DRIVER, NUMA, PCIE
from fabricgauge.doctor.checks.hosts import GOVERNOR, IDLE, IOMMU, IRQS, LIMITS, REACH, THP
from fabricgauge.doctor.checks.likeness import CLOCKS, LIKENESS
from fabricgauge.doctor.checks.links import IPOIB, LINK, PORT
from fabricgauge.doctor.checks.names import NAMES
from fabricgauge.doctor.checks.priority import PRIORITY
from fabricgauge.doctor.checks.rates import RATE, RDMA_RATE
from fabricgauge.doctor.checks.routes import ARP, REVERSE_PATH
from fabricgauge.doctor.checks.subnet import PORT_ERRORS, SUBNET_LINKS
from fabricgauge.doctor.checks.subnets import MEMBERS, SUBNETS

CHECKS: tuple[Check, ...] = (
    REACH, ADAPTERS, DRIVER, LINK, PORT, RATE, RDMA_RATE, SUBNET_LINKS, GIDS, PRIORITY, PCIE, IPOIB,
    MTU, ADDRESSES, MEMBERS, SUBNETS, ARP, REVERSE_PATH, FIREWALL, NAMES, PING, CONNECT, CARRIED,
    COUNTERS, PORT_ERRORS, CLOCKS, LIMITS, GOVERNOR, IDLE, THP, IOMMU, ACS, GPU, NUMA, IRQS,
    LIKENESS,
)  # fmt: skip
