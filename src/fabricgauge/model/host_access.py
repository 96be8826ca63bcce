"""Access from the head to the nodes, and the commands to start; launchers supply the data."""

import shlex
from collections.abc import Sequence

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
