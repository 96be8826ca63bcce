"""The ssh launcher reaches nodes on which this user can log in without a password."""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.launchers import Launcher
from fabricgauge.nodes.launch.launchers.nodes import require_host_names, select_nodes

#: ssh(1): forward neither agent nor display, even if the user's configuration does; never ask for a
#: password, since no user would see the question; give up on a dead node soon.
OPTIONS = ("-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")


def access(nodes: tuple[str, ...], ssh_options: Sequence[str] = ()) -> HostAccess:
    """Return hosts reached by ``ssh``; ``ssh_options`` are words such as ``-p`` ``2222``.

    MPI launchers split the options of their agent at white space, so a word with white space is
    refused; ssh's configuration file can hold it.

    Raises:
        UsageError: an impossible host name, or an option with white space.
    """
    for word in ssh_options:
        if not word or word.split() != [word]:
            raise UsageError(
                f"ssh option {word!r:.200} is empty or contains white space; "
                "put this setting into ~/.ssh/config"
            )
    options = (*OPTIONS, *ssh_options)
    hosts = tuple(
        Host(node, ("ssh", *options, "--", node), remote_shell=True)
        for node in require_host_names(nodes)
    )
    return HostAccess("ssh", hosts, agent="ssh", agent_options=options)


def _reach(request: MeasurementRequest) -> HostAccess:
    nodes, config = select_nodes(request), request.ssh_config
    if not nodes:
        raise UsageError("--launcher ssh needs nodes; name them with -w, e.g. -w c[1-2]")
    return access(nodes, ("-F", str(Path(config).resolve())) if config else ())


LAUNCHER = Launcher(_reach, lambda request: bool(select_nodes(request)))
