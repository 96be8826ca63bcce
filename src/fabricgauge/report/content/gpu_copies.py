"""What copies between hosts and GPUs carry, beside what the network carried between the GPUs."""

from collections.abc import Iterator

from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.report.content.curves import curves_of, direction, key_sizes, networks
from fabricgauge.words.figures import megabytes_per_s, size
from fabricgauge.words.networks import is_loopback, named

_SAID = (
    "Each rank timed copies between its GPU and locked host memory before the cases of its launch;"
    " the best launch counts. Messages that MPI stages through host memory are no faster than the"
    " slowest copy."
)


def sections(judged: Judged) -> Iterator[doc.Section]:
    """A table for each network on which buffers lay on a GPU."""
    for network in (one for one in networks(judged) if not is_loopback(one)):
        rates = judged.evidence.of(network).copies
        if not rates:
            continue
        curves = curves_of(judged, network, ("bandwidth",))
        by_size = [{one.message_bytes: one.bandwidth for one in curve.points} for curve in curves]
        timed = sorted({length for sizes in rates.values() for length in sizes})
        rows = []
        for length in key_sizes(curves) or timed:
            figures = [found.value if (found := one.get(length)) else None for one in by_size]
            for sizes in rates.values():
                at = sizes.get(length)
                figures += [at.to_host, at.to_device] if at else [None, None]
            told = ("–" if one is None else megabytes_per_s(one) for one in figures)
            rows.append((size(length), *told))
        heads = [f"network\n{direction(one)}" for one in curves]
        heads += [f"{node}\n{way}" for node in rates for way in ("GPU to host", "host to GPU")]
        title = f"Copies between GPU and host: {named(network)}; medians in MB/s"
        table = doc.Table(doc.figures("size", *heads), tuple(rows))
        yield doc.Section("copies", title, (table,), nav="Copies", intro=_SAID)
