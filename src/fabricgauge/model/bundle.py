"""Raw answers of nodes in a directory, to be read at any time and on any machine."""

import msgspec

from fabricgauge.model.fabric import DeclaredNetwork


class BundleIndex(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-bundle"):
    """bundle.json: what was asked, when, and who did not answer as they should.

    ``nodes`` are in the order in which they were named. ``troubles`` is a sentence for each
    node whose answer is missing or incomplete; ``declared`` are the networks that the launcher
    knew. A reader accepts every index of the same
    major version; a bundle that was put together by hand has none.
    """

    version: str = "1.0"
    gathered_utc: str = ""
    program: str = ""
    launcher: str = ""
    virtual: bool = False
    declared: tuple[DeclaredNetwork, ...] = ()
    nodes: tuple[str, ...] = ()
    troubles: dict[str, str] = {}
