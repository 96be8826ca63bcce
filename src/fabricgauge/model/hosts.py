"""Names of hosts: which of them are one host's."""

import re
from collections.abc import Iterable

_LOOPBACK = re.compile(r"localhost(?:\.localdomain)?|ip6-localhost|127(?:\.\d{1,3}){3}|::1")
_ADDRESS = re.compile(r"[\d.]+|[\da-f]*:[\da-f:.]*")


def same_host(name: str, another: str) -> bool:
    """Whether two names are one host's: equal, both of the loopback, or one is short for the other.

    ``a`` is short for ``a.example.org``. Letters' case counts for nothing.
    """
    one, two = name.casefold(), another.casefold()
    if one == two or (_LOOPBACK.fullmatch(one) and _LOOPBACK.fullmatch(two)):
        return True
    short, full = sorted((one.rstrip("."), two.rstrip(".")), key=len)
    dotless = "." not in short and not _ADDRESS.fullmatch(full)
    return short == full or (dotless and full.startswith(f"{short}."))


def unified(names: Iterable[str]) -> tuple[str, ...]:
    """The same names, each host by the first name that it has among them."""
    known: dict[str, str] = {}
    return tuple(known.setdefault(name, _first(name, known.values())) for name in names)


def _first(name: str, known: Iterable[str]) -> str:
    return next((one for one in known if same_host(name, one)), name)
