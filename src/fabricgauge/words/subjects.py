"""What verdicts are of, in words: made of the values when a verdict is given.

Nothing is decided by these words. Those who need no verdict need not load the arrays of all pairs.
"""

from fabricgauge.model.pairs import called
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.words import sentences


def stream(about: VerdictSubject) -> str:
    """What a person tells a series by: the table it is from, else the direction."""
    way = sentences.direction(about.names[0], about.names[1])
    if about.pairs:
        return f"{way} (median of {about.pairs:,} pairs)"
    told = about.program or about.variant
    return about.source or f"{way}{f' ({told})' if told else ''}"


def subject(about: VerdictSubject) -> str:
    """What a verdict is of: ``run``, ``net1``, ``net1, c1 → c2``, ``net1, c2, sending``."""
    if about.kind == "run":
        return "run"
    if about.kind == "network" or about.kind == "crossing":
        return ", ".join(filter(None, (about.network, about.source)))
    if about.kind == "stream":
        part = stream(about)
    elif about.kind == "directions":
        part = sentences.direction(about.names[0], about.names[1], both=True)
    elif about.kind == "place":
        part = about.place
    else:
        part = called(about.kind, about.names)
    return f"{about.network}, {part}" if about.network else part
