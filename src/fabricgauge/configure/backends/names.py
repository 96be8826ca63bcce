"""Names that a backend's format can express; whatever else is refused instead of escaped."""

import re

from fabricgauge.model.errors import UsageError

#: No separator of xCAT's tables, no glob of networkd, no list of a keyfile, no operand of wwctl.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,62}")


def expressible(name: str, what: str, backend: str) -> str:
    """The name itself.

    Raises:
        UsageError: the backend's format would read something else.
    """
    if not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{what} {name!r:.80} cannot be written for {backend}: it has signs with a meaning of"
            " their own there; use the backend ip, or give it another name"
        )
    return name
