"""A judged run: the verdict, what to do, what it rests on, and under what it was measured."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Node
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.content import fabric, measured, suite_tables, suites, verdicts
from fabricgauge.report.content.conclusion import MEANING, headline, one_way_peaks, provisos, tally
from fabricgauge.report.content.inventory import interfaces
from fabricgauge.report.content.layouts import layout
from fabricgauge.report.content.monitoring import gauges, suite
from fabricgauge.report.content.path import MOST_NODES, paths, placement
from fabricgauge.report.content.run_data import data
from fabricgauge.report.content.run_records import records
from fabricgauge.report.content.sweep import direction, pair_curves
from fabricgauge.report.content.together import together
from fabricgauge.report.document import (
    PAGE,
    SCREEN,
    TRACKER,
    Block,
    Column,
    Document,
    Facts,
    Fold,
    Heading,
    KeyFigure,
    Lines,
    Paragraph,
    Section,
    Table,
)
from fabricgauge.report.interface import Kind, Setting
from fabricgauge.words.figures import (
    duration,
    megabytes_per_s,
    microseconds,
    of_unit,
    percent,
    size,
)
from fabricgauge.words.networks import is_loopback, named
from fabricgauge.words.sentences import between


def document(judged: Judged, setting: Setting) -> Document:
    """At most about 60 lines of a terminal for two nodes; a page has all that is known."""
    run, word = judged.run, judged.overall.value
    meaning = f"{word} means: {MEANING[judged.overall]}. {tally(judged.verdicts)}."
    return Document(
        word=word, tone=verdicts.TONES[judged.overall], headline=headline(judged),
        title=f"fabricgauge {run.identity}",
        about=f"fabricgauge · run {run.identity} · started {run.started_utc}",
        under=(Paragraph(meaning, on=PAGE),), provisos=provisos(judged),
        figures=tuple(_key_figures(judged)), sections=tuple(_sections(judged, setting)),
        closing=f"Judged {judged.judged_utc} by rules {judged.rules_version}. MB is 10⁶ bytes, KiB"
        " 2¹⁰ and MiB 2²⁰ bytes. All rates are payload.",
        places=tuple(_places(judged, setting)),
    )  # fmt: skip


def _sections(judged: Judged, setting: Setting) -> Iterator[Section]:
    own = bool(pair_curves(judged)) or not suites.told(judged)
    yield from fabric.faults(judged)
    yield from verdicts.to_do(judged)
    yield _ceilings_in_lines(judged)
    yield verdicts.verdicts(judged)
    yield from _ceilings(judged)
    yield from measured.figures(judged)
    yield from fabric.pairs(judged)
    yield from together(judged)
    yield from suite_tables.sections(judged)
    if own:
        yield measured.curves(judged)
    yield from suite_tables.references(judged)
    placed = any(launch.placements for launch in judged.run.launches)
    if judged.traffic or own:
        yield from paths(judged)
    if placed or own:
        yield placement(judged)
    if own:
        yield measured.cases(judged)
    yield _environment(judged)
    yield _launches(judged)
    yield from verdicts.missing(judged)
    yield _check(judged, setting)


def _key_figures(judged: Judged) -> Iterator[KeyFigure]:
    """Best one-way bandwidth, its share of the ceiling, smallest latency, path share.

    For a fabric of many nodes what is typical over all pairs stands in front.
    """
    for network, typical in fabric.key_figures(judged):
        yield KeyFigure(typical.value, typical.unit, typical.what, _valid(judged, network))
    for peak in one_way_peaks(judged):
        limit, rate = peak.limit_bytes_s, peak.bandwidth.value
        share = f", {percent(rate / limit)} of the ceiling" if limit else ""
        what = f"{named(peak.curve.network)}: one direction, {direction(peak.curve)},"
        what += f" {size(peak.message_bytes)} messages{share}"
        yield KeyFigure(megabytes_per_s(rate), "MB/s", what, _valid(judged, peak.curve.network))
    for curve in judged.curves:
        if curve.pattern == "latency" and curve.points and not is_loopback(curve.network):
            point = curve.points[0]
            what = f"{named(curve.network)}: half round trip, {direction(curve)},"
            what += f" {size(point.message_bytes)} message"
            valid = _valid(judged, curve.network)
            yield KeyFigure(microseconds(point.time.value), "µs", what, valid)
    yield from _shares(judged)


def _shares(judged: Judged) -> Iterator[KeyFigure]:
    """The smallest share, over the nodes, that the pinned network's interfaces carried."""
    for group in judged.traffic:
        shares = [
            sum(
                one.share for one in node.crossings
                if one.pinned and not isinstance(one.share, Skipped)
            )
            for node in group.nodes
        ]  # fmt: skip
        if group.network is not None and shares and not is_loopback(group.network):
            what = f"of what each node sent crossed {group.network} (least over the nodes)"
            yield KeyFigure(percent(min(shares)).removesuffix(" %"), "%", what)


def _valid(judged: Judged, network: str | None) -> bool:
    return not any(
        verdict.outcome is Outcome.INVALID and verdict.network == named(network)
        for verdict in judged.verdicts
    )


def _ceilings_in_lines(judged: Judged) -> Section:
    """A terminal has one line per network."""
    networks = [one.name for one in judged.run.fabric.networks]
    lines = tuple(
        Paragraph(f"{name}: {_in_a_line(judged.ceilings.get(name))}") for name in networks
    )
    return Section("", "", lines, on=SCREEN)


def _ceilings(judged: Judged) -> Iterator[Section]:
    """An issue tracker has a row per network, a page the whole sum."""
    heads = ("network", "payload per direction", "sum", "bound by")
    rows = tuple(_ceiling(name, one) for name, one in judged.ceilings.items())
    if rows:
        yield Section("", "Ceilings", (Table(tuple(map(Column, heads)), rows),), on=TRACKER)
    blocks: list[Block] = []
    for name, ceiling in sorted(judged.ceilings.items()):
        blocks += [Heading(name), *_whole_sum(ceiling)]
    blocks = blocks or [Paragraph("No network with a known rate was found.")]
    yield Section("ceiling", "Ceiling, with the sum", tuple(blocks), nav="Ceiling", on=PAGE)


def _in_a_line(ceiling: Ceiling | Skipped | None) -> str:
    if not isinstance(ceiling, Ceiling):
        return f"no ceiling: {ceiling.reason if ceiling else 'it was not worked out'}"
    expression = f" = {ceiling.steps[-1].expression}" if ceiling.steps else ""
    return (
        f"ceiling {megabytes_per_s(ceiling.payload_bytes_per_s)} MB/s per direction{expression}"
        f" ({ceiling.payload_per_packet_bytes} bytes of payload in every"
        f" {ceiling.wire_bytes_per_packet} on the wire; bound by {ceiling.binding})"
    )


def _ceiling(name: str, ceiling: Ceiling | Skipped) -> tuple[str, ...]:
    if isinstance(ceiling, Skipped):
        return name, "not known", ceiling.reason, ""
    expression = ceiling.steps[-1].expression if ceiling.steps else ""
    rate = f"{megabytes_per_s(ceiling.payload_bytes_per_s)} MB/s"
    return name, rate, expression, ceiling.binding


def _whole_sum(ceiling: Ceiling | Skipped) -> Iterator[Block]:
    if isinstance(ceiling, Skipped):
        yield Paragraph(f"No ceiling: {ceiling.reason}")
        return
    columns = (Column("step"), Column("how", loose=True), Column("result", right=True))
    rows = tuple((one.label, one.expression, of_unit(one.value, one.unit)) for one in ceiling.steps)
    yield Table(columns, rows, total=True)
    bucket = ""
    if ceiling.burst_bytes:
        burst = size(ceiling.burst_bytes)
        bucket = f" A token bucket may let {burst} pass above the line rate at once, so a transfer"
        bucket += f" of n bytes takes at least (n − {burst}) ÷ ceiling."
    yield Paragraph(f"Bound by {ceiling.binding}.{bucket}")


def _environment(judged: Judged) -> Section:
    run = judged.run
    told = [("command", " ".join(run.command))]
    if run.plan.launches:
        told.append(("profile", _profile(judged)))
    nodes = run.fabric.nodes
    blocks: list[Block] = [Facts((*told, *sorted(run.environment.items())))]
    blocks += [_node(one) for one in nodes[:MOST_NODES]]
    if len(nodes) > MOST_NODES:
        said = f"{len(nodes) - MOST_NODES:,} more nodes are in fabric.json and in the JSON report."
        blocks.append(Paragraph(said, kind="caution"))
    return Section("environment", "Environment", tuple(blocks), nav="Environment", on=PAGE)


def _profile(judged: Judged) -> str:
    plan = judged.run.plan
    stops = plan.stopping
    return (
        f"{plan.profile}: {len(plan.launches)} launches; a case stops at ±"
        f" {stops.relative_half_width * 100:g} % ({stops.confidence * 100:g} % interval) or when"
        f" its time is spent; data {'checked' if plan.check_data else 'not checked'}"
    )


def _node(node: Node) -> Fold:
    note = f"{node.kernel}, {node.cpu_count} processors, {len(node.interfaces)} interfaces"
    told = (("host name", node.hostname), ("boot id", node.boot_id), *sorted(node.facts.items()))
    return Fold(node.name, note, (interfaces(node), Facts(told)))


def _launches(judged: Judged) -> Section:
    blocks: tuple[Block, ...] = tuple(map(_launch, judged.run.launches))
    blocks = blocks or (Paragraph("Nothing was launched."),)
    return Section("launches", "Launches", blocks, on=PAGE)


def _launch(launch: Launch) -> Fold:
    ended = launch.ended
    code = ended.exit_code if ended.exit_code is not None else "unknown"
    count = len(launch.measurements)
    what = f"{len(launch.curves)} curves" if launch.curves else f"{count} cases"
    note = f"{named(launch.network)}, {between(launch.nodes)}; {what}, {duration(ended.wall_s)},"
    note += f" {ended.status}, exit {code}"
    blocks: list[Block] = []
    if ended.message:
        blocks.append(Paragraph(ended.message, kind="caution"))
    blocks.append(Lines(tuple(ended.argv)))
    if launch.header:
        head, timer = launch.header, launch.header.timer
        blocks.append(Paragraph(
            f"Engine {head.engine}, compiled by {head.compiler}; {head.mpi_library} (MPI"
            f" {head.mpi_standard}). Clock {timer.name}: resolution {duration(timer.resolution_s)},"
            f" overhead {duration(timer.overhead_s)} per reading."
        ))  # fmt: skip
    elif not launch.imported and not launch.curves:
        blocks.append(Paragraph("The engine said nothing.", kind="caution"))
    return Fold(f"Launch {launch.number}", note, tuple(blocks), open=ended.exit_code != 0)


def _check(judged: Judged, setting: Setting) -> Section:
    where = f" {setting.run_directory}" if setting.run_directory else ""
    files = (
        ("raw/", "what every program that was started wrote, untouched"),
        ("results.jsonl", "one record per case, as the engine wrote it, with counters, sockets, and"
         " the histogram of its samples"),
        ("launches.jsonl", "how each launch ended, with its command line"),
        ("plan.json, fabric.json, run.json", "what was to be measured, what was found, what was in"
         " force"),
    )  # fmt: skip
    blocks = (
        Paragraph(f"Everything above was worked out from the run directory{where}:"), Facts(files),
        Paragraph("Judge it again, by the rules of the installed version:"),
        Lines((f"fabricgauge report {setting.run_directory or judged.run.identity}",)),
    )  # fmt: skip
    title = "How to check this report"
    return Section("check", title, blocks, nav="Check this report", on=PAGE)


def _places(judged: Judged, setting: Setting) -> Iterator[Block]:
    run = judged.run
    version = run.environment.get("fabricgauge", "")
    page = (f"HTML report  {setting.html_file}",) if setting.html_file else ()
    yield Lines((f"Run          {setting.run_directory or run.identity}", *page), on=SCREEN)
    told = f"Run {run.identity}, started {run.started_utc}, judged {judged.judged_utc} by rules"
    told += f" {judged.rules_version}" + (f" with fabricgauge {version}" if version else "")
    yield Paragraph(f"{told}.", on=TRACKER)
    if setting.run_directory.strip():
        raw = (("Raw output and counters", setting.run_directory),)
        yield Facts(raw, on=TRACKER)


KIND = Kind("run", document, data, records, suite, gauges, layout)
