"""Rates between the GPUs of a node, and what nvidia-smi or rocm-smi says is between them."""

import msgspec

from fabricgauge.model.inventory import Gpu, GpuLink


class GpuTopology(msgspec.Struct, frozen=True):
    """What nvidia-smi or rocm-smi told of one node; ``source`` names the files that it is from."""

    source: str
    gpus: tuple[Gpu, ...]
    links: tuple[GpuLink, ...]


class GpuPairs(msgspec.Struct, frozen=True):
    """A matrix of bytes/s between GPUs, one copy at a time, as nvbandwidth numbers them.

    A row is the GPU that bytes leave, a column the one that they reach; None was not measured.
    ``buses`` are the GPUs' places by number (``00000000:1b:00``), ``products`` the names that the
    node has GPUs of; empty where the log does not say them.
    """

    bytes_per_s: tuple[tuple[float | None, ...], ...]
    buses: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    topology: GpuTopology | None = None
