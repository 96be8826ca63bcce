"""Which networks need a reference: what their hosts do without a network."""

from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import streams
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.run import Run


def below_pass(
    run: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds,
    fabric: FabricResult = NO_PAIRS,
) -> tuple[str, ...]:
    """Names of networks on which a two-sided stream stayed below the passing fraction."""
    context = Context(run, ceilings, thresholds, fabric)
    enough = context.limit("fraction.pass")
    return tuple(
        subject.name
        for subject in context.subjects
        if any(stream.fraction < enough for stream in streams(context, subject, "bandwidth"))
    )
