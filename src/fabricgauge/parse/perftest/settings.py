"""The settings between perftest's title and its table."""

import re

_NAME = re.compile(r"[A-Za-z][\w .*/-]{0,48}")
_ADDRESS = re.compile(r"(?:local|remote) address:|GID:")


def setting_name(printed: str) -> str:
    """One name for what text and JSON spell differently (``ibv_wr* API``, ``ibv_wr_API``)."""
    words = printed.replace("*", "").replace(".", "").replace("_", " ").split()
    return " ".join(words).lower()


def setting_value(printed: str) -> str:
    return printed.removesuffix("[B]")


def settings_of(text: str) -> dict[str, str] | None:
    """The settings of a line such as `` Number of qps   : 1  Transport type : IB``.

    None if the line is none; addresses have no settings, but are perftest's.
    """
    text = text.strip()
    if _ADDRESS.match(text):
        return {}
    parts = text.split(": ")
    if not 2 <= len(parts) <= 4:
        return None
    found: dict[str, str] = {}
    name = parts[0]
    for part in parts[1:]:
        words = part.split(None, 1)
        if not words or not _NAME.fullmatch(name.strip()):
            return None
        found[setting_name(name)] = setting_value(words[0])
        name = words[1] if len(words) > 1 else ""
    return found if not name else None
