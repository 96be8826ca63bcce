"""Access from the head to the nodes, and the test that two names mean the same host.

Launchers supply the hosts and the commands to start.
"""

import re
import shlex
from collections.abc import Iterable, Sequence

import msgspec


class Host(msgspec.Struct, frozen=True):
    """A node and the ``prefix`` that makes an argv list run on it.

    ``remote_shell`` is true if the remote side joins the words and passes them to a shell, as ssh
    does; the words are then quoted before they are sent.
    """

    node: str
    prefix: tuple[str, ...]
    remote_shell: bool = False

    def through(self, argv: Sequence[str]) -> list[str]:
        """Return the argv that runs ``argv`` on the node, quoted for a remote shell."""
        if self.remote_shell:
            return [*self.prefix, shlex.join(argv)]
        return [*self.prefix, *argv]


class HostAccess(msgspec.Struct, frozen=True):
    """All hosts of one launcher, and the access from the head to them.

    ``head_prefix`` precedes a command that runs where ``mpiexec`` is started (empty: on this
    machine). ``agent`` is the argv of a program with the arguments of ssh,
    ``AGENT [options] HOST COMMAND…``; None keeps the MPI's default. ``agent_options`` are its words
    before the host. ``virtual`` nodes share one kernel: their figures describe the lab. ``bind`` is
    ``core`` or ``none`` if the user chose the binding of ranks. ``variables`` are set for the ranks
    before all others, independent of the variables that the launcher passes on.
    """

    launcher: str
    hosts: tuple[Host, ...] = msgspec.field(name="doors")  # the name in stored journals
    head_prefix: tuple[str, ...] = ()
    agent: str | None = None
    virtual: bool = False
    agent_options: tuple[str, ...] = ()
    bind: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(host.node for host in self.hosts)


class LaunchCommand(msgspec.Struct, frozen=True):
    """An argv list and its additional environment variables."""

    argv: tuple[str, ...]
    env: dict[str, str]


_LOOPBACK = re.compile(r"localhost(?:\.localdomain)?|ip6-localhost|127(?:\.\d{1,3}){3}|::1")
_ADDRESS = re.compile(r"[\d.]+|[\da-f]*:[\da-f:.]*")
#: What IPv6 writes before an IPv4 address (RFC 4291, 2.5.5.2).
_MAPPED = re.compile(r"::ffff:(?=\d+(?:\.\d+){3}$)")


def same_host(name: str, another: str) -> bool:
    """Check that two names mean one host: equal, both loopback, or one short for the other.

    ``a`` is short for ``a.example.org``. Letter case is ignored.
    """
    first, second = _normalise(name), _normalise(another)
    if first == second or (_LOOPBACK.fullmatch(first) and _LOOPBACK.fullmatch(second)):
        return True
    short, full = sorted((first.rstrip("."), second.rstrip(".")), key=len)
    dotless = "." not in short and not _ADDRESS.fullmatch(full)
    return short == full or (dotless and full.startswith(f"{short}."))


def _normalise(name: str) -> str:
    return _MAPPED.sub("", name.casefold())


def unify_hosts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with each host's first name in place of its further names."""
    names = tuple(names)
    first_names: dict[str, str] = {}
    hosts_by_label: dict[str, list[str]] = {}
    for name in names:
        if name in first_names:
            continue
        # Two names of one host have the same first label, or are both the loopback.
        normal = _normalise(name)
        label = normal if _ADDRESS.fullmatch(normal) else normal.partition(".")[0]
        key = "localhost" if _LOOPBACK.fullmatch(normal) else label
        hosts = hosts_by_label.setdefault(key, [])
        first_names[name] = next((host for host in hosts if same_host(name, host)), name)
        if first_names[name] == name:
            hosts.append(name)
    return tuple(first_names[name] for name in names)
