"""The ssh launcher: nodes that this machine's user can reach without a password."""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.launchers.interface import Launcher
from fabricgauge.run.launchers.nodes import checked, chosen

#: No agent and no display are lent to a node, whatever the user's configuration says (ssh(1)).
#: Never ask for a password: nobody would see the question. Give up on a dead node soon.
OPTIONS = ("-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")


def access(nodes: tuple[str, ...], ssh_options: Sequence[str] = ()) -> HostAccess:
    """Hosts through ``ssh``; ``ssh_options`` are words such as ``-p`` ``2222``.

    MPI launchers split the options of their agent at white space, so a word with white
    space in it is refused; ssh's own configuration file can hold it.

    Raises:
        UsageError: a name that no host can have, or an option with white space.
    """
    for word in ssh_options:
        if not word or word.split() != [word]:
            raise UsageError(
                f"ssh option {word!r:.200} is empty or holds white space; "
                "put that setting into ~/.ssh/config"
            )
    options = (*OPTIONS, *ssh_options)
    hosts = tuple(
        Host(node, ("ssh", *options, "--", node), remote_shell=True) for node in checked(nodes)
    )
    return HostAccess("ssh", hosts, agent="ssh", agent_options=options)


def _reach(request: MeasurementRequest) -> HostAccess:
    nodes, config = chosen(request), request.ssh_config
    if not nodes:
        raise UsageError("--launcher ssh needs nodes; name them with -w, e.g. -w c[1-2]")
    return access(nodes, ("-F", str(Path(config).resolve())) if config else ())


LAUNCHER = Launcher(_reach, lambda request: bool(chosen(request)))
