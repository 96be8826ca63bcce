"""What networks can carry at most, and how that is worked out."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.words.figures import of_unit, rate, size


def in_lines(judged: Judged) -> doc.Section:
    """A terminal has one line per network."""
    lines = tuple(
        doc.Paragraph(f"{one.name}: {_line(judged.ceilings.get(one.name))}")
        for one in judged.run.fabric.networks
    )
    return doc.Section("", "", lines, on=doc.SCREEN)


def sums(judged: Judged) -> Iterator[doc.Section]:
    """An issue tracker has a row per network, a page the whole sum."""
    heads = doc.heads("network", "payload per direction", "sum", "bound by")
    rows = tuple(_row(name, one) for name, one in judged.ceilings.items())
    yield doc.Section("", "Ceilings", (doc.Table(heads, rows),), on=doc.TRACKER)
    blocks: list[doc.Block] = []
    for name, ceiling in sorted(judged.ceilings.items()):
        blocks += [doc.Heading(name), *sum_of(ceiling)]
    blocks = blocks or [doc.Paragraph("No network with a known rate was found.")]
    yield doc.Section("ceiling", "Ceiling, with the sum", tuple(blocks), nav="Ceiling", on=doc.PAGE)


def sum_of(ceiling: Ceiling | Skipped) -> Iterator[doc.Block]:
    """How a ceiling is worked out, step by step, and what binds it."""
    if isinstance(ceiling, Skipped):
        yield doc.Paragraph(f"No ceiling: {ceiling.reason}", kind="caution")
        return
    steps = [(one.label, one.expression, of_unit(one.value, one.unit)) for one in ceiling.steps]
    columns = doc.heads("step", "~how", ">result")
    yield doc.Table(columns, tuple(steps), total=True, on=doc.PAGE)
    told = tuple((label, f"{expression} = {result}") for label, expression, result in steps)
    yield doc.FactList(told, on=doc.TEXT)
    bucket = ""
    if ceiling.burst_bytes:
        burst = size(ceiling.burst_bytes)
        bucket = f" A token bucket may let {burst} pass above the line rate at once, so a transfer"
        bucket += f" of n bytes takes at least (n − {burst}) ÷ ceiling."
    yield doc.Paragraph(f"Bound by {ceiling.binding}.{bucket}", on=doc.PAGE)


def _line(ceiling: Ceiling | Skipped | None) -> str:
    if not isinstance(ceiling, Ceiling):
        return f"no ceiling: {ceiling.reason if ceiling else 'it was not worked out'}"
    expression = f" = {ceiling.steps[-1].expression}" if ceiling.steps else ""
    return (
        f"ceiling {rate(ceiling.payload_bytes_per_s)} per direction{expression}"
        f" ({ceiling.payload_per_packet_bytes} bytes of payload in every"
        f" {ceiling.wire_bytes_per_packet} on the wire; bound by {ceiling.binding})"
    )


def _row(name: str, ceiling: Ceiling | Skipped) -> tuple[str, ...]:
    if isinstance(ceiling, Skipped):
        return name, "not known", ceiling.reason, ""
    expression = ceiling.steps[-1].expression if ceiling.steps else ""
    return name, rate(ceiling.payload_bytes_per_s), expression, ceiling.binding
