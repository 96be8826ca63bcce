"""Raw answers of nodes in a directory that any machine can read later."""

import msgspec

from fabricgauge.model.fabric import DeclaredNetwork


class BundleIndex(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-bundle"):
    """bundle.json: the nodes, the time, and the nodes without a complete answer.

    ``nodes`` are in the order of the request. ``troubles`` is a sentence for each node whose answer
    is missing or incomplete; ``declared`` are the networks that the launcher knew. A reader accepts
    every index of the same major version. A bundle that was put together by hand has no index.
    """

    version: str = "1.0"
    gathered_utc: str = ""
    program: str = ""
    launcher: str = ""
    virtual: bool = False
    declared: tuple[DeclaredNetwork, ...] = ()
    nodes: tuple[str, ...] = ()
    troubles: dict[str, str] = {}
