"""Show the ceilings of networks and their derivation."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.judged import Judged
from fabricgauge.model.words.figures import rate, size, with_unit
from fabricgauge.model.words.networks import OWN_CHOICE
from fabricgauge.report import document as doc


def brief_ceilings(judged: Judged) -> doc.Section:
    """Return one line per network, for a terminal."""
    lines = []
    names = [network.name for network in judged.run.fabric.networks]
    for name in (*names, *({OWN_CHOICE} & {*judged.ceilings})):
        ceiling = judged.ceilings.get(name)
        if isinstance(ceiling, Ceiling):
            calculation = f" = {ceiling.steps[-1].expression}" if ceiling.steps else ""
            sentence = (
                f"ceiling {rate(ceiling.payload_bytes_per_s)} per direction{calculation}"
                f" ({ceiling.payload_per_packet_bytes} payload bytes per"
                f" {ceiling.wire_bytes_per_packet} on the wire; bound by {ceiling.binding})"
                + "".join(
                    f"; with the log's MTU of {mtu}: {rate(ceiling.by_mtu[mtu])}"
                    for mtu in sorted(_find_log_mtus(judged, name) & ceiling.by_mtu.keys())
                    if ceiling.by_mtu[mtu] != ceiling.payload_bytes_per_s
                )
            )
        else:
            sentence = f"no ceiling: {ceiling.reason if ceiling else 'not computed'}"
        lines.append(doc.Paragraph(f"{name}: {sentence}"))
    return doc.Section("", "", tuple(lines), on=doc.SCREEN)


def _find_log_mtus(judged: Judged, network: str) -> set[int]:
    launches = (launch for launch in judged.run.launches if launch.network == network)
    curves = (curve for launch in launches for curve in launch.curves)
    return {curve.evidence.mtu_bytes or 0 for curve in curves}


def calculations(judged: Judged) -> Iterator[doc.Section]:
    """Yield a row per network for an issue tracker, the whole derivation for a page."""
    rows, blocks = [], list[doc.Block]()
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Skipped):
            rows.append((name, "unknown", ceiling.reason, ""))
        else:
            expression = ceiling.steps[-1].expression if ceiling.steps else ""
            rows.append((name, rate(ceiling.payload_bytes_per_s), expression, ceiling.binding))
    for name, ceiling in sorted(judged.ceilings.items()):
        blocks += [doc.Heading(name), *show_calculation(ceiling)]
    heads = doc.heads("network", "payload per direction", "calculation", "bound by")
    yield doc.Section("", "Ceilings", (doc.Table(heads, tuple(rows)),), on=doc.TRACKER)
    blocks = blocks or [doc.Paragraph("No network with a known rate was found.")]
    yield doc.Section("ceiling", "Ceiling and its calculation", tuple(blocks), nav="Ceiling",
                      on=doc.PAGE | doc.PAPER)  # fmt: skip


def show_calculation(ceiling: Ceiling | Skipped) -> Iterator[doc.Block]:
    """Yield the derivation of a ceiling, step by step, and what binds it."""
    if isinstance(ceiling, Skipped):
        yield doc.Paragraph(f"No ceiling: {ceiling.reason}", kind="caution")
        return
    steps = [
        (step.label, step.expression, with_unit(step.value, step.unit)) for step in ceiling.steps
    ]
    columns = doc.heads("step", "~formula", ">result")
    yield doc.Table(columns, tuple(steps), total=True, on=doc.PAGE)
    sums = tuple((label, f"{expression} = {result}") for label, expression, result in steps)
    yield doc.FactList(sums, on=doc.TEXT)
    bucket = ""
    if ceiling.burst_bytes:
        burst = size(ceiling.burst_bytes)
        bucket = f" A token bucket may pass {burst} above the line rate at once: a transfer of n"
        bucket += f" bytes takes at least (n − {burst}) ÷ ceiling."
    yield doc.Paragraph(f"Bound by {ceiling.binding}.{bucket}", on=doc.PAGE)
