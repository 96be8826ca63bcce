"""How the head reaches the nodes, and the commands that it starts: data that launchers fill in."""

import shlex
from collections.abc import Sequence

import msgspec


class Host(msgspec.Struct, frozen=True):
    """What to put in front of an argv list so that it runs on one node.

    ``remote_shell`` says that the far side joins the words and hands them to a
    shell, as ssh does; the words are then quoted before they are sent.
    """

    node: str
    prefix: tuple[str, ...]
    remote_shell: bool = False

    def through(self, argv: Sequence[str]) -> list[str]:
        """The argv that runs ``argv`` behind it, quoted where a remote shell will read it."""
        if self.remote_shell:
            return [*self.prefix, shlex.join(argv)]
        return [*self.prefix, *argv]


class HostAccess(msgspec.Struct, frozen=True):
    """All hosts of one launcher, and how the head gets to them.

    ``head_prefix`` goes before a command that runs where ``mpiexec`` is started
    (empty: on this machine). ``agent`` is the argv of a program that is called
    as ssh is, ``AGENT [options] HOST COMMAND…``; None leaves the MPI's own default.
    ``agent_options`` are words to be given to it before the host.
    ``virtual`` marks nodes that share one kernel: their figures describe the lab. ``bind`` is
    ``core`` or ``none`` where the user said to what ranks are bound. ``variables`` are set for the
    ranks before anything else, whatever the launcher hands on.
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
    """An argv list and the environment variables that are added for it."""

    argv: tuple[str, ...]
    env: dict[str, str]
