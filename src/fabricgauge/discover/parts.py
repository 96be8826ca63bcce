"""What one source says of a node; several sources together make its inventory."""

import msgspec

from fabricgauge.model.inventory import Adapter, Gpu, Nearness, RdmaPort, Route, Rule, Stack


class Parts(msgspec.Struct, frozen=True):
    """What a single printout or section gave; whatever it does not speak of is empty.

    ``troubles`` are sentences on lines that could not be understood, with their numbers.
    """

    adapters: tuple[Adapter, ...] = ()
    rdma_ports: tuple[RdmaPort, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nearness: tuple[Nearness, ...] = ()
    routes: tuple[Route, ...] = ()
    rules: tuple[Rule, ...] = ()
    tables: tuple[Route, ...] = ()
    stacks: tuple[Stack, ...] = ()
    modules: tuple[str, ...] = ()
    facts: dict[str, str] = {}
    troubles: tuple[str, ...] = ()
