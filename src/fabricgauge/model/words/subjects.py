"""Name the subjects of verdicts in words.

No decision depends on these words. This module does not load the arrays of all pairs.
"""

from fabricgauge.model.pairs import name_part
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.model.words import sentences


def stream(about: VerdictSubject) -> str:
    """Return a series' table, or else its direction."""
    direction = sentences.direction(about.names[0], about.names[1])
    if about.pairs:
        return f"{direction} (median of {about.pairs:,} pairs)"
    qualifier = about.program or about.variant
    return about.source or f"{direction}{f' ({qualifier})' if qualifier else ''}"


def subject(about: VerdictSubject) -> str:
    """Return a verdict's subject: ``run``, ``net1``, ``net1, c1 → c2``, ``net1, c2, sending``."""
    if about.kind == "run":
        return "run"
    if about.kind == "network" or about.kind == "crossing":
        return ", ".join(filter(None, (about.network, about.source)))
    if about.kind == "stream":
        part = stream(about)
    elif about.kind == "directions":
        part = sentences.direction(about.names[0], about.names[1], bidirectional=True)
    elif about.kind == "place":
        part = about.place
    else:
        part = name_part(about.kind, about.names)
    return f"{about.network}, {part}" if about.network else part
