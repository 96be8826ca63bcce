"""A judged run as a page of text: the verdict first, then what it rests on."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import fabric_terminal, other_patterns, suites
from fabricgauge.report.conclusion import headline, next_steps, provisos, tally
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.omissions import unmeasured
from fabricgauge.report.quantities import megabytes_per_s
from fabricgauge.report.sweep import curves_of, networks
from fabricgauge.report.terminal_tables import (
    HEADS,
    MOST_PATHS,
    STYLES,
    figures,
    indented,
    others,
    paths,
    plain,
    suite_table,
    verdicts,
)
from fabricgauge.report.text_page import printed
from fabricgauge.report.traffic import traffic

MOST_OMISSIONS = 6
MOST_CURVES = 24


def render(judged: Judged, setting: Setting) -> str:
    """At most about 60 lines for two nodes; plain text unless the setting asks for colour."""
    return printed(_parts(judged, setting), setting)


def _parts(judged: Judged, setting: Setting) -> Iterator[RenderableType]:
    yield _verdict_line(judged)
    for proviso in provisos(judged):
        yield plain(proviso, "bold")
    yield from fabric_terminal.findings(judged)
    yield Text()
    for network in judged.run.fabric.networks:
        yield _network_line(network, judged.ceilings.get(network.name))
    yield from _titled(f"Verdicts: {tally(judged.verdicts)}", verdicts(judged))
    for name in networks(judged):
        if not is_reference(name):
            yield from _measured(judged, name)
    yield from fabric_terminal.pairs(judged)
    yield from fabric_terminal.together(judged)
    yield from _suites(judged)
    yield from _against(judged)
    if traffic(judged.run):
        few = len(judged.run.fabric.nodes) > MOST_PATHS
        which = f", {MOST_PATHS} nodes with the least share" if few else ""
        title = f"Path: what each interface sent during the cases{which}"
        yield from _titled(title, paths(judged))
    yield from _missing(judged)
    yield from _steps(judged)
    yield from _places(judged, setting)


def _suites(judged: Judged) -> Iterator[RenderableType]:
    """What other suites' output told; the HTML and JSON reports have all of it."""
    told = suites.told(judged)
    if not told:
        return
    what = "Imported" if all(one.launch.imported for one in told) else "Measured by other suites"
    yield from _titled(
        f"{what}: {len(told)} {'curve' if len(told) == 1 else 'curves'}",
        suite_table(judged, told[:MOST_CURVES]),
    )
    if len(told) > MOST_CURVES:
        yield indented(f"and {len(told) - MOST_CURVES} more; the HTML report lists them")
    rules = dict.fromkeys(one.curve.unit_rule for one in told)
    yield indented(f"units read as: {'; '.join(rules)}")


def _against(judged: Judged) -> Iterator[RenderableType]:
    if not judged.against:
        return
    yield Text()
    yield plain("Against (published; `fabricgauge compare` has the whole curves)", "bold")
    for curve in judged.against:
        row = suites.row_of(curve, None)
        yield indented(f"{row.where} {row.benchmark}, {row.what}: {row.figure}")
    yield indented(f"caveat: {judged.against[0].settings.get('caveat', 'none')}")


def _measured(judged: Judged, network: str | None) -> Iterator[RenderableType]:
    title = f"{named(network)}; medians, 95 % intervals, share of the ceiling"
    if curves_of(judged, network, HEADS):
        yield from _titled(f"Measured: {title}", figures(judged, network))
    rest = other_patterns.other_rows(judged, network, HEADS)
    if rest:
        yield from _titled(f"Measured in other patterns: {title}", others(rest))


def _titled(title: str, body: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield plain(title, "bold")
    yield body


def _verdict_line(judged: Judged) -> Text:
    line = Text(f" {judged.overall.value} ", style=STYLES[judged.overall])
    return line.append(" ").append_text(plain(headline(judged), "bold"))


def _network_line(network: Network, ceiling: Ceiling | Skipped | None) -> Text:
    if isinstance(ceiling, Ceiling):
        return plain(f"{network.name}: {_sum(ceiling)}")
    reason = ceiling.reason if ceiling else "it was not worked out"
    return plain(f"{network.name}: no ceiling: {reason}")


def _sum(ceiling: Ceiling) -> str:
    expression = f" = {ceiling.steps[-1].expression}" if ceiling.steps else ""
    return (
        f"ceiling {megabytes_per_s(ceiling.payload_bytes_per_s)} MB/s per direction{expression}"
        f" ({ceiling.payload_per_packet_bytes} bytes of payload in every"
        f" {ceiling.wire_bytes_per_packet} on the wire; bound by {ceiling.binding})"
    )


def _missing(judged: Judged) -> Iterator[RenderableType]:
    missing = unmeasured(judged)
    if not missing:
        return
    yield Text()
    yield plain("Not measured", "bold")
    for one in missing[:MOST_OMISSIONS]:
        yield indented(f"{one.what}: {one.why}")
    if len(missing) > MOST_OMISSIONS:
        yield indented(f"and {len(missing) - MOST_OMISSIONS} more; the HTML report lists all")


def _steps(judged: Judged) -> Iterator[RenderableType]:
    steps = next_steps(judged)
    if not steps:
        if judged.overall is not Outcome.PASS:
            yield Text()
            yield plain("Next step: read the evidence in the HTML report; no rule names a remedy")
        return
    yield Text()
    yield plain("What to do", "bold")
    for number, verdict in enumerate(steps, 1):
        cause = f" Likely cause: {verdict.cause}." if verdict.cause else ""
        yield indented(f"{number}. [{verdict.rule}, {verdict.subject}]{cause}")
        yield indented(verdict.remedy, 5)


def _places(judged: Judged, setting: Setting) -> Iterator[RenderableType]:
    yield Text()
    yield plain(f"Run          {setting.run_directory or judged.run.identity}")
    if setting.html_file:
        yield plain(f"HTML report  {setting.html_file}")
