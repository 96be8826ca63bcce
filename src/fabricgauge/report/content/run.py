"""Show a judged run: the verdict, what to do, the evidence, and the conditions."""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.judged import Judged
from fabricgauge.model.memory import describe_memory
from fabricgauge.model.pattern import BUFFER_WORDS
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import (
    duration,
    megabytes_per_s,
    microseconds,
    percent,
    share_of,
    size,
    with_unit,
)
from fabricgauge.model.words.networks import is_loopback, named
from fabricgauge.model.words.sentences import between, counted
from fabricgauge.report import document as doc
from fabricgauge.report.content import ceilings, measured, path, suites, verdicts
from fabricgauge.report.content.conclusion import (
    MEANING,
    describe_limit,
    headline,
    one_way_peaks,
    provisos,
    tally,
    tally_tables,
    worst_first,
)
from fabricgauge.report.content.curves import direction, pair_curves
from fabricgauge.report.content.inventory import interfaces, shortened
from fabricgauge.report.content.run_data import data, layout, records
from fabricgauge.report.interface import Gauge, Kind, Setting, TestSuite
from fabricgauge.report.visible import list_places


def document(judged: Judged, setting: Setting) -> doc.Report:
    """Return about 60 lines of a terminal for two nodes; a page has everything."""
    run, word = judged.run, judged.overall.value
    counts = tally_tables(judged) if verdicts.has_several_tables(judged) else tally(judged.verdicts)
    meaning = f"{word} means: {MEANING[judged.overall]}.{counts and f' {counts}.'}"
    program = f"fabricgauge {run.environment.get('fabricgauge', '')}".strip()
    nodes = shortened([node.name for node in run.fabric.nodes]) or "no node"
    return doc.Report(
        word=word, tone=verdicts.TONES[judged.overall], headline=headline(judged),
        title=f"fabricgauge {run.identity}",
        about=f"{program} · run {run.identity} · {nodes} · started {run.started_utc}",
        under=(doc.Paragraph(meaning, on=doc.PAGE),), provisos=provisos(judged),
        figures=tuple(_key_figures(judged)), sections=tuple(_sections(judged, setting)),
        closing=f"Judged {judged.judged_utc} by rules {judged.rules_version}. MB is 10⁶ bytes, KiB"
        " 2¹⁰ and MiB 2²⁰ bytes. All rates are payload.",
        places=tuple(_places(judged, setting)),
    )  # fmt: skip


def _sections(judged: Judged, setting: Setting) -> Iterator[doc.Section]:
    has_figures = bool(pair_curves(judged)) or not suites.logged_curves(judged)
    placed = any(placed.ranks for placed in judged.evidence.placed)
    matrices: tuple[doc.Section, ...] = ()
    if judged.fabric.analyses:
        from fabricgauge.report.content.pairs import pairs

        matrices = tuple(pairs(judged))
    curves = (measured.curves(judged),) if has_figures else ()
    proof = tuple(path.paths(judged)) if judged.evidence.traffic or has_figures else ()
    # A page shows the picture of the worst verdict before the tables.
    worst = worst_first(judged.verdicts)[:1]
    of_path = any(verdict.rule in ("path", "placement") for verdict in worst)
    pictured = proof if of_path else matrices if judged.fabric.analyses else curves
    # A page has its headline above: what to do comes next and needs no scrolling.
    faults, commands = _faults(judged)
    yield from _restrict(doc.TEXT, faults)
    yield verdicts.to_do(judged)
    yield from commands
    yield from _restrict(doc.PAGE | doc.PAPER, faults)
    yield from _restrict(doc.PAGE | doc.PAPER, pictured)
    if judged.families:
        from fabricgauge.report.content.families import families

        yield from families(judged)
    yield from verdicts.tables(judged)
    yield ceilings.brief_ceilings(judged)
    yield verdicts.verdicts(judged)
    yield path.wire_of_slow_streams(judged)
    yield from ceilings.calculations(judged)
    fabric = judged.run.fabric
    counts_switches = any(not isinstance(net.switches, Skipped) for net in fabric.networks)
    if counts_switches or fabric.topology.groups:
        from fabricgauge.report.content.budget import budget

        yield budget(judged)
    yield from measured.figures(judged)
    yield from measured.copies(judged)
    yield from _restrict(doc.TEXT if pictured is matrices else doc.ALL, matrices)
    if any(case.together for launch in judged.run.launches for case in launch.measurements):
        from fabricgauge.report.content.together import together

        yield from together(judged)
    yield from suites.sections(judged)
    yield from () if pictured is curves else curves
    yield suites.references(judged)
    yield path.wire(judged)
    yield from _restrict(doc.TEXT if pictured is proof else doc.ALL, proof)
    if placed or has_figures:
        yield path.placement(judged)
    if has_figures:
        yield measured.cases(judged)
    yield _environment(judged)
    yield _launches(judged)
    yield from verdicts.missing(judged)
    yield _check(judged, setting)


def _faults(judged: Judged) -> tuple[tuple[doc.Section, ...], tuple[doc.Section, ...]]:
    """Return what is at fault, and commands for the scheduler; a run without faults has neither."""
    fails = any(verdict.outcome is Outcome.FAIL for verdict in judged.verdicts)
    if not (fails or judged.fabric.analyses):
        return (), ()
    from fabricgauge.report.content.at_fault import drain_commands, faults

    return tuple(faults(judged)), (drain_commands(judged),)


def _restrict(medium: doc.Medium, sections: Iterable[doc.Section]) -> Iterator[doc.Section]:
    return (msgspec.structs.replace(section, on=section.on & medium) for section in sections)


def _key_figures(judged: Judged) -> Iterator[doc.KeyFigure]:
    """Yield rates and times, then the smallest share that the pinned network carried."""
    yield from _failed_figure(judged)
    invalid = {verdict.network for verdict in judged.verdicts if verdict.outcome is Outcome.INVALID}
    for network, figure in _measured(judged):
        yield msgspec.structs.replace(figure, valid=named(network) not in invalid)
    for group in judged.evidence.traffic:
        if group.network is not None and group.nodes and not is_loopback(group.network):
            smallest = percent(min(node.pinned_share for node in group.nodes))
            description = f"of each node's traffic crossed {group.network} (least of all nodes)"
            yield doc.KeyFigure(smallest.removesuffix(" %"), "%", description)


def _failed_figure(judged: Judged) -> Iterator[doc.KeyFigure]:
    """Yield the figure that failed, with its part and its limit; a matrix shows its own parts.

    A consequence of another verdict is no figure for the head of a page.
    """
    worst = worst_first(judged.verdicts)
    for cause in [verdict for verdict in worst if verdict.id not in judged.follows][:1]:
        figure = cause.figure
        if cause.outcome is Outcome.FAIL and cause.rule != "outliers" and figure is not None:
            value, _, unit = with_unit(figure.value, figure.unit).partition(" ")
            required = describe_limit(cause.threshold)
            yield doc.KeyFigure(value, unit, f"{cause.subject}: {figure.what}{required}")


def _measured(judged: Judged) -> Iterator[tuple[str | None, doc.KeyFigure]]:
    if judged.fabric.analyses:
        from fabricgauge.report.content.pairs import key_figures

        yield from key_figures(judged)
    for peak in one_way_peaks(judged):
        limit, rate, network = peak.limit_bytes_s, peak.bandwidth.value, peak.curve.network
        share = f", {share_of(peak.bandwidth, limit)} of the ceiling" if limit else ""
        stream = f"{named(network)}: one direction, {direction(peak.curve)}"
        description = f"{stream}, {size(peak.message_bytes)} messages{share}"
        yield network, doc.KeyFigure(megabytes_per_s(rate), "MB/s", description)
    for curve in judged.curves:
        if curve.pattern == "latency" and curve.points and not is_loopback(curve.network):
            point = curve.points[0]
            trip = f"{named(curve.network)}: half round trip, {direction(curve)}"
            description = f"{trip}, {size(point.message_bytes)} message"
            yield curve.network, doc.KeyFigure(microseconds(point.time.value), "µs", description)


def _environment(judged: Judged) -> doc.Section:
    run, plan = judged.run, judged.run.plan
    facts = [("command", " ".join(run.command))]
    if plan.launches:
        width, confidence = plan.stopping.relative_half_width * 100, plan.stopping.confidence * 100
        facts.append(("profile", (
            f"{plan.profile}: {len(plan.launches)} launches; a case stops at ± {width:g} %"
            f" ({confidence:g} % interval) or when its time is spent; the data"
            f" of {'every sample' if plan.check_data else 'the first sample'} are compared"
        )))  # fmt: skip
    if plan.memory:
        facts.append(("memory", describe_memory(plan.memory)))
    if plan.buffers != "fewest":
        facts.append(("buffers", BUFFER_WORDS[plan.buffers]))
    more = "{count} more nodes are in fabric.json and in the JSON report."
    fact_list = doc.FactList((*facts, *sorted(run.environment.items())))
    nodes = doc.limit_blocks(tuple(map(_node, run.fabric.nodes)), path.MOST_NODES, more)
    return doc.Section("environment", "Environment", (fact_list, *nodes), nav="Environment",
                       on=doc.PAGE)  # fmt: skip


def _node(node: Node) -> doc.Fold:
    note = f"{node.kernel}, {node.cpu_count} processors, {len(node.interfaces)} interfaces"
    facts = (("host name", node.hostname), ("boot id", node.boot_id), *sorted(node.facts.items()))
    return doc.Fold(node.name, note, (interfaces(node), doc.FactList(facts)))


def _launches(judged: Judged) -> doc.Section:
    blocks = tuple(_launch(launch) for launch in judged.run.launches if not launch.imported)
    nothing = (doc.Paragraph("Nothing was launched."),)
    return doc.Section("launches", "Launches", blocks or nothing, on=doc.PAGE)


def _launch(launch: Launch) -> doc.Fold:
    ended, blocks = launch.ended, list[doc.Block]()
    code = ended.exit_code if ended.exit_code is not None else "unknown"
    content = counted(len(launch.measurements), "case")
    content = counted(len(launch.curves), "curve") if launch.curves else content
    place = f"{named(launch.network)}, {between(launch.nodes)}"
    note = f"{place}; {content}, {duration(ended.wall_s)}, {ended.status}, exit {code}"
    if ended.message:
        blocks.append(doc.Paragraph(ended.message, kind="caution"))
    blocks.append(doc.Lines(tuple(ended.argv)))
    if launch.header:
        head, timer = launch.header, launch.header.timer
        locations = (location for case in launch.measurements for location in case.memory)
        used = sorted({str(location) for location in locations if location.device})
        memory = f" {head.memory} ({'; '.join(used) or 'no GPU was used'})." if head.memory else ""
        blocks.append(doc.Paragraph(
            f"{f'Data over {head.transport}. ' if head.transport else ''}"
            f"Engine {head.engine}, compiled by {head.compiler}; {head.mpi_library} (MPI"
            f" {head.mpi_standard}). Clock {timer.name}: resolution {duration(timer.resolution_s)},"
            f" overhead {duration(timer.overhead_s)} per reading.{memory}"
        ))  # fmt: skip
    elif not launch.curves:
        blocks.append(doc.Paragraph("The engine wrote nothing.", kind="caution"))
    if any(case.connections for case in launch.measurements):
        from fabricgauge.report.content.verbs import connections

        blocks += connections(launch)
    return doc.Fold(f"Launch {launch.number}", note, tuple(blocks), open=ended.exit_code != 0)


_FILES = (
    ("raw/", "unchanged output of every program"),
    ("results.jsonl", "one record per case, as the engine wrote it, with counters, sockets, and"
     " the histogram of its samples"),
    ("launches.jsonl", "status and command line of each launch"),
    ("plan.json, fabric.json, run.json", "the plan, the nodes and networks, the settings"),
)  # fmt: skip


def _check(judged: Judged, setting: Setting) -> doc.Section:
    directory = f" {setting.run_directory}" if setting.run_directory else ""
    command = f"fabricgauge report {setting.run_directory or judged.run.identity}"
    again = doc.Paragraph("Judge it again, by the rules of the installed version:")
    blocks = (doc.FactList(_FILES), again, doc.Lines((command,)))
    intro = f"Everything above was computed from the run directory{directory}:"
    title, nav = "How to check this report", "Check this report"
    return doc.Section("check", title, blocks, nav=nav, intro=intro, on=doc.PAGE)


def _places(judged: Judged, setting: Setting) -> Iterator[doc.Block]:
    run = judged.run
    version = run.environment.get("fabricgauge", "")
    places = list_places(setting.run_directory or run.identity, setting.html_file)
    yield doc.Lines(places, on=doc.SCREEN)
    judgement = f"judged {judged.judged_utc} by rules {judged.rules_version}"
    judgement += f" with fabricgauge {version}" if version else ""
    sentence = f"Run {run.identity}, started {run.started_utc}, {judgement}."
    yield doc.Paragraph(sentence, on=doc.TRACKER)
    if setting.run_directory.strip():
        raw = (("Raw output and counters", setting.run_directory),)
        yield doc.FactList(raw, on=doc.TRACKER)


def _suite(judged: Judged, setting: Setting) -> TestSuite:
    from fabricgauge.report.content.monitoring import suite

    return suite(judged, setting)


def _gauges(judged: Judged, setting: Setting) -> Iterator[Gauge]:
    from fabricgauge.report.content.monitoring import gauges

    return gauges(judged, setting)


KIND = Kind("run", document, data, records, _suite, _gauges, layout, verdicts.table_records)
