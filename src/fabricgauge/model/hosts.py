"""Names of hosts, and the test that two names mean the same host."""

import re
from collections.abc import Iterable

_LOOPBACK = re.compile(r"localhost(?:\.localdomain)?|ip6-localhost|127(?:\.\d{1,3}){3}|::1")
_ADDRESS = re.compile(r"[\d.]+|[\da-f]*:[\da-f:.]*")


def same_host(name: str, another: str) -> bool:
    """Check that two names mean one host: equal, both loopback, or one short for the other.

    ``a`` is short for ``a.example.org``. Letter case is ignored.
    """
    first, second = name.casefold(), another.casefold()
    if first == second or (_LOOPBACK.fullmatch(first) and _LOOPBACK.fullmatch(second)):
        return True
    short, full = sorted((first.rstrip("."), second.rstrip(".")), key=len)
    dotless = "." not in short and not _ADDRESS.fullmatch(full)
    return short == full or (dotless and full.startswith(f"{short}."))


def unify_hosts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with each host's first name in place of its further names."""
    names = tuple(names)
    first_names: dict[str, str] = {}
    hosts_by_label: dict[str, list[str]] = {}
    for name in names:
        if name in first_names:
            continue
        # Two names of one host have the same first label, or are both the loopback.
        is_address = _ADDRESS.fullmatch(name.casefold())
        label = name.casefold() if is_address else name.casefold().partition(".")[0]
        key = "localhost" if _LOOPBACK.fullmatch(name.casefold()) else label
        hosts = hosts_by_label.setdefault(key, [])
        first_names[name] = next((host for host in hosts if same_host(name, host)), name)
        if first_names[name] == name:
            hosts.append(name)
    return tuple(first_names[name] for name in names)
