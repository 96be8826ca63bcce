"""Rates between the GPUs of a node, and their links as nvidia-smi or rocm-smi prints them."""

import msgspec

from fabricgauge.model.inventory import Gpu, GpuLink


class GpuTopology(msgspec.Struct, frozen=True):
    """One node's GPUs and links by nvidia-smi or rocm-smi; ``source`` names the files read."""

    source: str
    gpus: tuple[Gpu, ...]
    links: tuple[GpuLink, ...]


class GpuPairs(msgspec.Struct, frozen=True):
    """A matrix of bytes/s between GPUs, one copy at a time, as nvbandwidth numbers them.

    A row is the sending GPU, a column the receiving GPU; None was not measured. ``buses`` are the
    GPUs' PCI addresses by number (``00000000:1b:00``), ``products`` the product names of the node's
    GPUs; both are empty if the log lacks them.
    """

    bytes_per_s: tuple[tuple[float | None, ...], ...]
    buses: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    topology: GpuTopology | None = None
