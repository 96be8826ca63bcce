"""Show a survey: classes of equal nodes, differing ones, networks with their ceilings, nodes in
detail.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fabricgauge.model.fabric import Node, Unreached
from fabricgauge.model.finding import Severity
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.surveyed import LikeNodes, Oddity, Surveyed
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.content import inventory as words
from fabricgauge.report.content.ceilings import show_calculation
from fabricgauge.report.content.inventory import shortened
from fabricgauge.report.content.preflight import place
from fabricgauge.report.interface import Kind, Setting, versioned

#: Up to FEW nodes are shown in full without a request; a page shows at most MOST_NODES in full.
FEW, MOST_NODES = 2, 200

ADAPTER = "adapter "
_SEPARATOR = " of "
_INTERFACE_SETTING = "net.ipv4.conf."
_VIRTUAL = "Virtual nodes share one machine: its facts appear once for each node."


def data(surveyed: Surveyed, _setting: Setting) -> dict[str, object]:
    """Return everything; quantities are bytes and bit/s, as in the model."""
    fabric = surveyed.fabric
    return versioned(
        "discovery", "1.0", virtual=fabric.virtual, nodes=surveyed.inventories,
        unreached=fabric.unreached, networks=fabric.networks, ports=surveyed.ports,
        ceilings=surveyed.ceilings, classes=surveyed.classes, limits=surveyed.limits,
        unread=surveyed.unread,
    )  # fmt: skip


def document(surveyed: Surveyed, setting: Setting) -> doc.Report:
    """Show unreachable nodes, differing nodes, the networks' ceilings, every node."""
    word, tone = _verdict(surveyed)
    networks = counted(len(surveyed.fabric.networks), "network")
    joins = f"{networks} connect{'s' * (len(surveyed.fabric.networks) == 1)} these nodes."
    return doc.Report(
        word=word, tone=tone, headline=summary(surveyed), title="fabricgauge discover",
        about="fabricgauge discover", under=(doc.Paragraph(joins, on=doc.PAGE),),
        provisos=(_VIRTUAL,) if surveyed.fabric.virtual else (),
        sections=(
            _missing(surveyed), _limits(surveyed), _classes(surveyed), _near(surveyed),
            _networks(surveyed), _ports(surveyed), _nodes(surveyed, setting.verbose),
        ),
        closing="MB is 10⁶ bytes. All rates are per direction; ceilings are payload. Unknown values"
        " are left out.",
    )  # fmt: skip


KIND = Kind("discovery", document, data)


def _verdict(surveyed: Surveyed) -> tuple[str, doc.Tone]:
    odd = len(odd_nodes(surveyed))
    if surveyed.fabric.unreached or not surveyed.inventories:
        return "INCOMPLETE", "inconclusive"
    if odd:
        return f"{odd:,} DIFFERENT", "warn"
    if any(limit.severity is not Severity.NOTE for limit in surveyed.limits):
        return "LIMITED", "warn"
    differ = any(like.splits for like in surveyed.classes)
    return ("MIXED", "warn") if differ else ("ALL ALIKE", "pass")


def summary(surveyed: Surveyed) -> str:
    """Return the number of nodes that answered, of their classes, and of differing nodes."""
    total = len(surveyed.inventories)
    lost = len(surveyed.fabric.unreached)
    odd = len(odd_nodes(surveyed))
    answered = f"{total - lost:,} of {total:,} nodes answered" if lost else counted(total, "node")
    kinds = counted(len(surveyed.classes), "class", "classes")
    worst = [limit for limit in surveyed.limits if limit.severity is not Severity.NOTE][:1]
    limits = "".join(f"; {place(finding)} {finding.what}" for finding in worst)
    return f"{answered}; {kinds} of equal nodes, {odd or 'none'} different{limits}"


def odd_nodes(surveyed: Surveyed) -> set[str]:
    return {node for like in surveyed.classes for oddity in like.oddities for node in oddity.nodes}


def _missing(surveyed: Surveyed) -> doc.Section:
    lost = {node.name for node in surveyed.fabric.unreached}
    answered = (inventory for inventory in surveyed.inventories if inventory.name not in lost)
    troubles = [(node.name, trouble) for node in answered for trouble in node.troubles]
    items: tuple[doc.Inline | tuple[doc.Inline, ...], ...] = (
        *(
            (doc.Cell(names, strong=True), f": not reached: {reason}")
            for names, reason in unreached(surveyed.fabric.unreached)
        ),
        *words.merge_sentences(troubles),
        *(f"not connected: {sentence}" for sentence in surveyed.fabric.unjoined),
        *surveyed.unread,
    )
    return doc.Section("missing", "Not read", (doc.Items(items),), nav="Not read")


def _limits(surveyed: Surveyed) -> doc.Section:
    """Show what holds adapters and ports below their capability."""
    lines = (f"{place(limit)} {limit.what}; {'; '.join(limit.evidence[1:2])}".rstrip("; ")
            for limit in surveyed.limits)  # fmt: skip
    intro = "Run `fabricgauge doctor` for remedies and further checks."
    return doc.Section("limits", "Below its capability", (doc.Items(tuple(lines)),), nav="Limits",
                       intro=intro)  # fmt: skip


def _classes(surveyed: Surveyed) -> doc.Section:
    classes = (_class(number, like) for number, like in enumerate(surveyed.classes, 1))
    blocks = tuple(chain.from_iterable(classes))
    nothing = (doc.Paragraph("No node returned any facts."),)
    return doc.Section("classes", "Classes of equal nodes", blocks or nothing, nav="Classes")


def _class(number: int, like: LikeNodes) -> Iterator[doc.Block]:
    nodes = counted(len(like.nodes), "node")
    yield doc.Heading(f"class {number}: {nodes}: {shortened(like.nodes)}")
    splits = (f"{split.attribute}: {_nodes_by_value(split.values)}" for split in like.splits)
    for title, differences in (
        ("Different from their peers", map(_oddity, like.oddities)),
        ("Differences without a majority", splits),
    ):
        if items := tuple(differences):
            yield doc.Fold(title, "", (doc.Items(items),), open=True)
    namings = (
        (f"interface of {naming.adapter}", _nodes_by_value(naming.names)) for naming in like.namings
    )
    yield doc.FactList((*_features(like), *namings))


def _oddity(oddity: Oddity) -> str:
    """Return ``c17: firmware of XL710 is 5.04; 1,993 like nodes have 6.01``."""
    verb = "has" if oddity.usual_count == 1 else "have"
    usual_nodes = f"{counted(oddity.usual_count, 'peer')} {verb}"
    nodes, is_part = shortened(oddity.nodes), not oddity.value or not oddity.usual
    if is_part and oddity.attribute.startswith(ADAPTER):
        difference = f"{oddity.attribute} is missing" if oddity.usual else f"has {oddity.attribute}"
        return f"{nodes}: {difference}; {usual_nodes} {'it' if oddity.usual else 'none'}"
    value = f"is {oddity.value}" if oddity.value else "is missing"
    return f"{nodes}: {oddity.attribute} {value}; {usual_nodes} {oddity.usual or 'none'}"


def _nodes_by_value(values: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return ``5.14 on c1; 6.1 on c2``."""
    return "; ".join(f"{value or 'missing'} on {shortened(nodes)}" for value, nodes in values)


def _features(like: LikeNodes) -> Iterator[tuple[str, str]]:
    """Yield rows of a class: an adapter's attributes in one row, the settings in the last."""
    adapters = (key for key in like.traits if key.startswith(ADAPTER))
    ends = {key: _SEPARATOR + key.removeprefix(ADAPTER) for key in adapters}
    settings = []
    for attribute, value in like.traits.items():
        if end := ends.get(attribute):
            called = [like.names[attribute]] if attribute in like.names else []
            attributes = (
                f"{k.removesuffix(end)} {v}" for k, v in like.traits.items() if k.endswith(end)
            )
            yield attribute, ", ".join((value, *called, *attributes))
        elif attribute.startswith("net."):
            settings.append(f"{attribute} = {value}")
        elif not attribute.endswith(tuple(ends.values())):
            yield attribute, value
    if settings:
        yield "settings", "; ".join(settings)


def _near(surveyed: Surveyed) -> doc.Section:
    """Show one table for each class that has adapters, by its example."""
    by_name = {inventory.name: inventory for inventory in surveyed.inventories}
    blocks: list[doc.Block] = []
    with_gpus = False
    for number, like in enumerate(surveyed.classes, 1):
        example = by_name[like.example]
        if example.adapters:
            heading = doc.Heading(f"class {number}, by {like.example}")
            blocks += [heading, words.nearness(example)]
            with_gpus |= bool(example.gpus)
    title = nav = "Adapters, sockets"
    if with_gpus:
        distances = "; ".join(f"{word} is {meaning}" for word, meaning in words.DISTANCES.items())
        remark = f"Distances between adapter and GPU, nearest first: {distances}."
        blocks.append(doc.Paragraph(remark))
        title, nav = f"{title} and GPUs", f"{nav}, GPUs"
    return doc.Section("near", title, tuple(blocks), nav=nav, on=doc.PAGE)


def _networks(surveyed: Surveyed) -> doc.Section:
    blocks: list[doc.Block] = []
    networks, unjoined = surveyed.fabric.networks, surveyed.fabric.unjoined
    for network in networks:
        facts = [("members", words.listed(network.members)), ("rate", network.rate_origin)]
        peers = (peer for peer in networks if peer.wire == network.wire and peer is not network)
        if network.wire and (same_wire := [peer.name for peer in peers]):
            facts.append(("shared wire", f"also used by {listed(same_wire)}"))
        heading = doc.Heading(f"network {words.network_title(network)}")
        blocks += [heading, doc.FactList(tuple(facts))]
        blocks += show_calculation(surveyed.ceilings[network.name])
    blocks = blocks or [doc.Paragraph("No network connects these nodes.")]
    blocks += [doc.Paragraph(sentence, kind="caution", on=doc.PAGE) for sentence in unjoined]
    return doc.Section("networks", "Networks and their ceilings", tuple(blocks), nav="Networks")


def _ports(surveyed: Surveyed) -> doc.Section:
    intro = "The ceiling of one such port. Its peers are unknown."
    blocks: list[doc.Block] = []
    for port in surveyed.ports:
        facts = (("ports", words.listed(port.ports)), ("rate", port.network.rate_origin))
        blocks += [doc.Heading(port.network.name), doc.FactList(facts)]
        blocks += show_calculation(surveyed.ceilings[port.network.name])
    title = "Equal RDMA ports"
    return doc.Section("ports", title, tuple(blocks), nav="RDMA ports", intro=intro)


def _nodes(surveyed: Surveyed, verbose: bool) -> doc.Section:
    in_full = verbose or len(surveyed.inventories) <= FEW
    on = doc.ALL if in_full else doc.PAGE
    blocks: list[doc.Block] = [
        _node(inventory, verbose, on if place < MOST_NODES else on & ~doc.PAGE)
        for place, inventory in enumerate(surveyed.inventories)
    ]
    if (more := len(surveyed.inventories) - MOST_NODES) > 0:
        remark = f"{more:,} more nodes are in the JSON report."
        blocks.append(doc.Paragraph(remark, kind="caution", on=doc.PAGE))
    return doc.Section("nodes", "Nodes", tuple(blocks), nav="Nodes", on=on)


def _node(inventory: Inventory, verbose: bool, on: doc.Medium) -> doc.Fold:
    node = inventory.node
    parts = (
        *(words.adapter(adapter) for adapter in inventory.adapters),
        *(f"RDMA port {words.port(port)}" for port in inventory.rdma_ports),
        *(words.gpu(gpu) for gpu in inventory.gpus),
        *(f"{near.adapter} to GPU {near.gpu}: {near.distance}" for near in inventory.nearness),
        *(f"{stack.kind} {stack.version} {stack.path}".rstrip() for stack in inventory.stacks),
        *inventory.troubles,
    )
    blocks: list[doc.Block] = [doc.Items(parts)]
    if isinstance(node, Node):
        note = f"{node.cpu_count} processors, Linux {node.kernel}"
        wired = frozenset(name for adapter in inventory.adapters for name in adapter.interfaces)
        blocks.append(words.interfaces(node, wired))
        facts = {**inventory.facts, **node.facts}
    else:
        note, facts = node.reason, inventory.facts
    blocks.append(doc.FactList(_visible_facts(facts, inventory), on=doc.PAGE))
    if verbose:
        blocks.append(doc.FactList(tuple(sorted(facts.items())), on=doc.SCREEN))
        blocks.append(doc.Paragraph(f"from: {', '.join(inventory.sources) or 'nothing'}"))
    return doc.Fold(inventory.name, note, tuple(blocks), on=on)


def _visible_facts(facts: dict[str, str], inventory: Inventory) -> tuple[tuple[str, str], ...]:
    """Return all facts except the settings of hidden interfaces."""
    visible_names = {"all", "default"}
    if isinstance(inventory.node, Node):
        wired = frozenset(name for adapter in inventory.adapters for name in adapter.interfaces)
        first = words.ordered(inventory.node, wired)[: words.MOST_INTERFACES]
        visible_names |= {interface.name for interface in first}
    return tuple(
        (name, value)
        for name, value in sorted(facts.items())
        if not name.startswith(_INTERFACE_SETTING)
        or name.removeprefix(_INTERFACE_SETTING).rpartition(".")[0] in visible_names
    )


def unreached(nodes: Sequence[Unreached]) -> Iterator[tuple[str, str]]:
    """Yield nodes and the reason; nodes with the same reason share one entry."""
    yield from words.group_sentences([(node.name, node.reason) for node in nodes])
