"""What networks can carry at most, and how that is worked out."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.words.figures import of_unit, rate, size


def in_lines(judged: Judged) -> doc.Section:
    """A terminal has one line per network."""
    lines = []
    for one in judged.run.fabric.networks:
        ceiling = judged.ceilings.get(one.name)
        if isinstance(ceiling, Ceiling):
            said = f"ceiling {rate(ceiling.payload_bytes_per_s)} per direction"
            said += f" = {ceiling.steps[-1].expression}" if ceiling.steps else ""
            said += f" ({ceiling.payload_per_packet_bytes} bytes of payload in every"
            said += f" {ceiling.wire_bytes_per_packet} on the wire; bound by {ceiling.binding})"
        else:
            said = f"no ceiling: {ceiling.reason if ceiling else 'it was not worked out'}"
        lines.append(doc.Paragraph(f"{one.name}: {said}"))
    return doc.Section("", "", tuple(lines), on=doc.SCREEN)


def sums(judged: Judged) -> Iterator[doc.Section]:
    """An issue tracker has a row per network, a page the whole sum."""
    rows, blocks = [], list[doc.Block]()
    for name, one in judged.ceilings.items():
        if isinstance(one, Skipped):
            rows.append((name, "not known", one.reason, ""))
        else:
            expression = one.steps[-1].expression if one.steps else ""
            rows.append((name, rate(one.payload_bytes_per_s), expression, one.binding))
    for name, one in sorted(judged.ceilings.items()):
        blocks += [doc.Heading(name), *sum_of(one)]
    heads = doc.heads("network", "payload per direction", "sum", "bound by")
    yield doc.Section("", "Ceilings", (doc.Table(heads, tuple(rows)),), on=doc.TRACKER)
    blocks = blocks or [doc.Paragraph("No network with a known rate was found.")]
    yield doc.Section("ceiling", "Ceiling, with the sum", tuple(blocks), nav="Ceiling",
                      on=doc.PAGE | doc.PAPER)  # fmt: skip


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
