"""Which outcome stands where several meet."""

from collections.abc import Iterable

from fabricgauge.model.verdict import Outcome

_ORDER = list(Outcome)


def worst(outcomes: Iterable[Outcome], *, empty: Outcome) -> Outcome:
    """The outcome that takes precedence (see ``Outcome``), ``empty`` if there is none."""
    return min(outcomes, key=_ORDER.index, default=empty)
