"""A survey as one HTML file that opens offline and runs no script at all."""

from fabricgauge.model.fabric import Interface, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report.discovery import words
from fabricgauge.report.discovery.nearness import DISTANCES, Matrix, matrix
from fabricgauge.report.folded import shortened
from fabricgauge.report.html import document
from fabricgauge.report.inventory import listed, titled

#: Nodes shown one by one, and interfaces of each; beyond them the file would grow past what mail
#: takes: a host of containers has hundreds.
MOST_NODES = 200
MOST_INTERFACES = 32

_OF_INTERFACE = "net.ipv4.conf."


def render(surveyed: Surveyed, _verbose: bool) -> str:
    """Classes, odd ones, who is near to whom, networks with their sums, nodes in detail."""
    word, style = _headline(surveyed)
    lost = {one.name for one in surveyed.fabric.unreached}
    reached = [one for one in surveyed.inventories if one.name not in lost]
    matrices = _matrices(surveyed)
    return document.filled(
        "discovery.html.j2", [], "fabricgauge.report.discovery",
        surveyed=surveyed, words=words, shortened=shortened, listed=listed, word=word,
        style_of_word=style, distances=DISTANCES,
        troubles=list(words.troubles(reached)),
        matrices=matrices, with_gpus=any(one.columns for _, _, one in matrices), titled=titled,
        most_nodes=MOST_NODES, interfaces=interfaces, facts=facts,
    )  # fmt: skip


def interfaces(inventory: Inventory) -> list[Interface]:
    """Those of adapters and those with addresses first, and no more than a reader takes in."""
    if not isinstance(inventory.node, Node):
        return []
    wired = {name for adapter in inventory.adapters for name in adapter.interfaces}
    ordered = sorted(
        inventory.node.interfaces, key=lambda one: (one.name not in wired, not one.addresses)
    )
    return ordered[:MOST_INTERFACES]


def facts(inventory: Inventory) -> dict[str, str]:
    """All but the settings of interfaces that are not shown."""
    known = {
        **inventory.facts,
        **(inventory.node.facts if isinstance(inventory.node, Node) else {}),
    }
    shown = {"all", "default", *(one.name for one in interfaces(inventory))}
    return {
        name: value
        for name, value in sorted(known.items())
        if not name.startswith(_OF_INTERFACE)
        or name.removeprefix(_OF_INTERFACE).rpartition(".")[0] in shown
    }


def _headline(surveyed: Surveyed) -> tuple[str, str]:
    """The word at the top, and which of the page's colours it has (style.css)."""
    odd = len(words.odd_nodes(surveyed))
    if surveyed.fabric.unreached or not surveyed.inventories:
        return "INCOMPLETE", "inconclusive"
    if odd:
        return f"{odd:,} ODD", "warn"
    differ = any(one.splits for one in surveyed.classes)
    return ("DIFFERENT", "warn") if differ else ("ALIKE", "pass")


def _matrices(surveyed: Surveyed) -> list[tuple[str, str, Matrix]]:
    """One for each class that has adapters, by its example."""
    by_name = {one.name: one for one in surveyed.inventories}
    found = [
        (f"class {number}", one.example, matrix(by_name[one.example]))
        for number, one in enumerate(surveyed.classes, 1)
    ]
    return [one for one in found if one[2].rows]
