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


def unify_hosts(names: Iterable[str]) -> tuple[str, ...]:
    """The same names, each host by the first name that it has among them."""
    names = tuple(names)
    known: dict[str, str] = {}
    alike: dict[str, list[str]] = {}
    for name in names:
        if name in known:
            continue
        # Only names of one first label, or of the loopback, can be one host's.
        is_address = _ADDRESS.fullmatch(name.casefold())
        label = name.casefold() if is_address else name.casefold().partition(".")[0]
        key = "localhost" if _LOOPBACK.fullmatch(name.casefold()) else label
        hosts = alike.setdefault(key, [])
        known[name] = next((one for one in hosts if same_host(name, one)), name)
        if known[name] == name:
            hosts.append(name)
    return tuple(known[name] for name in names)
