"""A survey: classes of like nodes, odd ones, networks with their sums, nodes in detail."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fabricgauge.model.fabric import Node, Unreached
from fabricgauge.model.finding import Severity
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes, Oddity
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report import document as doc
from fabricgauge.report.content import inventory as words
from fabricgauge.report.content.ceilings import sum_of
from fabricgauge.report.content.inventory import shortened
from fabricgauge.report.content.preflight import place
from fabricgauge.report.interface import Kind, Setting, identified
from fabricgauge.words.sentences import counted, listed

#: Up to FEW nodes are shown in full unasked; a page shows at most MOST_NODES in full.
FEW, MOST_NODES = 2, 200

ADAPTER = "adapter "
_OF = " of "
_OF_INTERFACE = "net.ipv4.conf."
_VIRTUAL = "Virtual nodes: they share one machine, and what they say of it is said once for each."


def data(surveyed: Surveyed, _setting: Setting) -> dict[str, object]:
    """All of it; quantities are bytes and bit/s, as in the model."""
    fabric = surveyed.fabric
    return identified(
        "discovery", "1.0", virtual=fabric.virtual, nodes=surveyed.inventories,
        unreached=fabric.unreached, networks=fabric.networks, ports=surveyed.ports,
        ceilings=surveyed.ceilings, classes=surveyed.classes, limits=surveyed.limits,
        unread=surveyed.unread,
    )  # fmt: skip


def document(surveyed: Surveyed, setting: Setting) -> doc.Report:
    """Who did not answer, who is odd, what networks can carry, every node."""
    word, tone = _verdict(surveyed)
    networks = counted(len(surveyed.fabric.networks), "network")
    joins = f"{networks} join{'s' * (len(surveyed.fabric.networks) == 1)} these nodes."
    return doc.Report(
        word=word, tone=tone, headline=summary(surveyed), title="fabricgauge discover",
        about="fabricgauge discover", under=(doc.Paragraph(joins, on=doc.PAGE),),
        provisos=(_VIRTUAL,) if surveyed.fabric.virtual else (),
        sections=(
            _missing(surveyed), _limits(surveyed), _classes(surveyed), _near(surveyed),
            _networks(surveyed), _ports(surveyed), _nodes(surveyed, setting.verbose),
        ),
        closing="MB is 10⁶ bytes. All rates are per direction; ceilings are payload. What a node"
        " did not say is left out.",
    )  # fmt: skip


KIND = Kind("discovery", document, data)


def _verdict(surveyed: Surveyed) -> tuple[str, doc.Tone]:
    odd = len(odd_nodes(surveyed))
    if surveyed.fabric.unreached or not surveyed.inventories:
        return "INCOMPLETE", "inconclusive"
    if odd:
        return f"{odd:,} ODD", "warn"
    if surveyed.limits and surveyed.limits[0].severity is not Severity.NOTE:
        return "LIMITED", "warn"
    differ = any(one.splits for one in surveyed.classes)
    return ("DIFFERENT", "warn") if differ else ("ALIKE", "pass")


def summary(surveyed: Surveyed) -> str:
    """How many answered, in how many classes, and how many of them are odd."""
    asked = len(surveyed.inventories)
    lost = len(surveyed.fabric.unreached)
    odd = len(odd_nodes(surveyed))
    answered = f"{asked - lost:,} of {asked:,} nodes answered" if lost else counted(asked, "node")
    kinds = counted(len(surveyed.classes), "class", "classes")
    worst = [one for one in surveyed.limits if one.severity is not Severity.NOTE][:1]
    limits = "".join(f"; {place(one)} {one.what}" for one in worst)
    return f"{answered}; {kinds} of like nodes, {odd or 'none'} odd{limits}"


def odd_nodes(surveyed: Surveyed) -> set[str]:
    return {node for one in surveyed.classes for oddity in one.oddities for node in oddity.nodes}


def _missing(surveyed: Surveyed) -> doc.Section:
    lost = {one.name for one in surveyed.fabric.unreached}
    told: tuple[doc.Said | tuple[doc.Said, ...], ...] = (
        *(
            (doc.Cell(names, strong=True), f": not reached: {reason}")
            for names, reason in unreached(surveyed.fabric.unreached)
        ),
        *troubles([one for one in surveyed.inventories if one.name not in lost]),
        *(f"not joined: {sentence}" for sentence in surveyed.fabric.unjoined),
        *surveyed.unread,
    )
    return doc.Section("missing", "Not read", (doc.Items(told),), nav="Not read")


def _limits(surveyed: Surveyed) -> doc.Section:
    """What holds adapters and ports below what they could carry, alike or not."""
    told = (f"{place(one)} {one.what}; {'; '.join(one.evidence[1:2])}".rstrip("; ")
            for one in surveyed.limits)  # fmt: skip
    said = "fabricgauge doctor says what to do, and looks at more."
    return doc.Section("limits", "Below what it could be", (doc.Items(tuple(told)),), nav="Limits",
                       intro=said)  # fmt: skip


def _classes(surveyed: Surveyed) -> doc.Section:
    each = (_class(number, one) for number, one in enumerate(surveyed.classes, 1))
    blocks = tuple(chain.from_iterable(each))
    nothing = (doc.Paragraph("No node said anything of itself."),)
    return doc.Section("classes", "Classes of like nodes", blocks or nothing, nav="Classes")


def _class(number: int, like: LikeNodes) -> Iterator[doc.Block]:
    yield doc.Heading(
        f"class {number}: {counted(len(like.nodes), 'node')}: {shortened(like.nodes)}"
    )
    if like.oddities:
        told = doc.Items(tuple(map(_oddity, like.oddities)))
        yield doc.Fold("Odd ones out", "", (told,), open=True)
    if like.splits:
        told = doc.Items(tuple(f"{one.attribute}: {_on_each(one.values)}" for one in like.splits))
        yield doc.Fold("They differ, and none has most of them on its side", "", (told,), open=True)
    namings = ((f"interface of {one.adapter}", _on_each(one.names)) for one in like.namings)
    yield doc.FactList((*_features(like), *namings))


def _oddity(one: Oddity) -> str:
    """``c17: firmware of XL710 is 5.04; 1,993 like nodes have 6.01``."""
    others = counted(one.usual_count, "like node") + (" has" if one.usual_count == 1 else " have")
    is_part = not one.value or not one.usual
    if is_part and one.attribute.startswith(ADAPTER):
        what = f"{one.attribute} is missing" if one.usual else f"has {one.attribute}"
        return f"{shortened(one.nodes)}: {what}; {others} {'it' if one.usual else 'none'}"
    value = f"is {one.value}" if one.value else "is missing"
    return f"{shortened(one.nodes)}: {one.attribute} {value}; {others} {one.usual or 'none'}"


def _on_each(values: Iterable[tuple[str, Sequence[str]]]) -> str:
    """``5.14 on c1; 6.1 on c2``."""
    return "; ".join(f"{value or 'missing'} on {shortened(nodes)}" for value, nodes in values)


def _features(like: LikeNodes) -> Iterator[tuple[str, str]]:
    """Rows of a class: an adapter's attributes in one row, the settings in the last."""
    ends = {key: _OF + key.removeprefix(ADAPTER) for key in like.traits if key.startswith(ADAPTER)}
    settings = []
    for attribute, value in like.traits.items():
        if end := ends.get(attribute):
            called = [like.names[attribute]] if attribute in like.names else []
            of = (f"{k.removesuffix(end)} {v}" for k, v in like.traits.items() if k.endswith(end))
            yield attribute, ", ".join((value, *called, *of))
        elif attribute.startswith("net."):
            settings.append(f"{attribute} = {value}")
        elif not attribute.endswith(tuple(ends.values())):
            yield attribute, value
    if settings:
        yield "settings", "; ".join(settings)


def _near(surveyed: Surveyed) -> doc.Section:
    """One table for each class that has adapters, by its example."""
    by_name = {one.name: one for one in surveyed.inventories}
    blocks: list[doc.Block] = []
    with_gpus = False
    for number, one in enumerate(surveyed.classes, 1):
        example = by_name[one.example]
        if example.adapters:
            heading = doc.Heading(f"class {number}, by {one.example}")
            blocks += [heading, words.nearness(example)]
            with_gpus |= bool(example.gpus)
    if with_gpus:
        ways = "; ".join(f"{word} is {meaning}" for word, meaning in words.DISTANCES.items())
        blocks.append(doc.Paragraph(f"Ways between adapter and GPU, nearest first: {ways}."))
    title = "Adapters, sockets" + " and GPUs" * with_gpus
    nav = "Adapters, sockets" + ", GPUs" * with_gpus
    return doc.Section("near", title, tuple(blocks), nav=nav, on=doc.PAGE)


def _networks(surveyed: Surveyed) -> doc.Section:
    blocks: list[doc.Block] = []
    every = surveyed.fabric.networks
    for one in every:
        told = [("members", words.listed(one.members)), ("rate", one.rate_origin)]
        others = [two.name for two in every if two.wire == one.wire and two is not one]
        if one.wire and others:
            told.append(("the same wire", f"is used by {listed(others)} as well"))
        blocks += [doc.Heading(f"network {words.titled(one)}"), doc.FactList(tuple(told))]
        blocks += sum_of(surveyed.ceilings[one.name])
    blocks = blocks or [doc.Paragraph("No network joins these nodes.")]
    blocks += [doc.Paragraph(one, kind="caution", on=doc.PAGE) for one in surveyed.fabric.unjoined]
    return doc.Section("networks", "Networks and their ceilings", tuple(blocks), nav="Networks")


def _ports(surveyed: Surveyed) -> doc.Section:
    said = "What one such port can carry. Whom these ports reach is not known."
    blocks: list[doc.Block] = []
    for one in surveyed.ports:
        told = (("ports", words.listed(one.ports)), ("rate", one.network.rate_origin))
        blocks += [doc.Heading(one.network.name), doc.FactList(told)]
        blocks += sum_of(surveyed.ceilings[one.network.name])
    title = "RDMA ports that are alike"
    return doc.Section("ports", title, tuple(blocks), nav="RDMA ports", intro=said)


def _nodes(surveyed: Surveyed, verbose: bool) -> doc.Section:
    shown = verbose or len(surveyed.inventories) <= FEW
    on = doc.ALL if shown else doc.PAGE
    blocks: list[doc.Block] = [
        _node(one, verbose, on if place < MOST_NODES else on & ~doc.PAGE)
        for place, one in enumerate(surveyed.inventories)
    ]
    if (more := len(surveyed.inventories) - MOST_NODES) > 0:
        said = f"{more:,} more nodes are in the JSON report."
        blocks.append(doc.Paragraph(said, kind="caution", on=doc.PAGE))
    return doc.Section("nodes", "Nodes", tuple(blocks), nav="Nodes", on=on)


def _node(inventory: Inventory, verbose: bool, on: doc.Medium) -> doc.Fold:
    node = inventory.node
    parts = (
        *(words.adapter(one) for one in inventory.adapters),
        *(f"RDMA port {words.port(one)}" for one in inventory.rdma_ports),
        *(words.gpu(one) for one in inventory.gpus),
        *(f"{near.adapter} to GPU {near.gpu}: {near.distance}" for near in inventory.nearness),
        *(f"{one.kind} {one.version} {one.path}".rstrip() for one in inventory.stacks),
        *inventory.troubles,
    )
    blocks: list[doc.Block] = [doc.Items(parts)]
    if isinstance(node, Node):
        note = f"{node.cpu_count} processors, Linux {node.kernel}"
        wired = frozenset(name for one in inventory.adapters for name in one.interfaces)
        blocks.append(words.interfaces(node, wired))
        facts = {**inventory.facts, **node.facts}
    else:
        note, facts = node.reason, inventory.facts
    blocks.append(doc.FactList(_of_shown(facts, inventory), on=doc.PAGE))
    if verbose:
        blocks.append(doc.FactList(tuple(sorted(facts.items())), on=doc.SCREEN))
        blocks.append(doc.Paragraph(f"from: {', '.join(inventory.sources) or 'nothing'}"))
    return doc.Fold(inventory.name, note, tuple(blocks), on=on)


def _of_shown(facts: dict[str, str], inventory: Inventory) -> tuple[tuple[str, str], ...]:
    """All but the settings of interfaces that are not shown."""
    shown = {"all", "default"}
    if isinstance(inventory.node, Node):
        wired = frozenset(name for one in inventory.adapters for name in one.interfaces)
        shown |= {one.name for one in words.ordered(inventory.node, wired)[: words.MOST_INTERFACES]}
    return tuple(
        (name, value)
        for name, value in sorted(facts.items())
        if not name.startswith(_OF_INTERFACE)
        or name.removeprefix(_OF_INTERFACE).rpartition(".")[0] in shown
    )


def troubles(inventories: Sequence[Inventory]) -> Iterator[str]:
    """What could not be read, once for all nodes that say the same."""
    yield from words.told_together(
        [(one.name, trouble) for one in inventories for trouble in one.troubles]
    )


def unreached(nodes: Sequence[Unreached]) -> Iterator[tuple[str, str]]:
    """Nodes and the reason; nodes with the same reason share one entry."""
    yield from words.together([(one.name, one.reason) for one in nodes])
