"""Bring a lab up: namespaces, then cables, then shaping; and remove it, whatever state it is in."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from fabricgauge.files.removing import remove_folder
from fabricgauge.lab import cabling, holder, state, tools
from fabricgauge.lab.cabling import socket_queue_bytes, write_hosts
from fabricgauge.lab.guests.packages import Tell, silent
from fabricgauge.lab.holder import HOLDER_MARK, boot_id, identify, kill, started
from fabricgauge.lab.slurm import cluster
from fabricgauge.lab.spec import HEAD, LabSpec, checked, subnet
from fabricgauge.lab.state import (
    LabNetwork,
    LabNode,
    LabState,
    NodeHolder,
    existing,
    load_marks,
    save,
)
from fabricgauge.model.errors import LabError

_HERE = Path(__file__).parent

#: What stands directly in a lab's directory; ``down`` removes nothing else.
FILES = (
    "lab.json", ".lab.json.*", "agent", "config.toml", "enter", "hostnames", "hosts", "memlock",
    "slurm", "table", "use",
    # virtual machines
    "cable*", "console.*", "furnish", "interfaces", "key", "key.pub", "known_hosts", "passwd",
    "pid.*", "ssh_config", "ssh_config.machine", "sshd_config",
)  # fmt: skip

_T = TypeVar("_T")
_R = TypeVar("_R")


def up(spec: LabSpec, tell: Tell = silent) -> LabState:
    """Make a lab that stands until ``down``; nothing is left of one that fails.

    ``tell`` is handed a sentence before a kernel for virtual machines is downloaded.

    Raises:
        LabError: it exists, it cannot be as asked, or the machine forbids it.
        ToolMissing: a program of iproute2, util-linux or, where asked for, Slurm is not installed.
    """
    checked(spec)
    tools.require(tools.GUEST_PROGRAMS if spec.rdma else tools.PROGRAMS)
    if spec.slurm:
        cluster.require(spec.nodes)
    directory = state.create(spec.name)
    try:
        return _bring_up(spec, directory, tell)
    except BaseException:
        down(spec.name)
        raise


def _bring_up(spec: LabSpec, directory: Path, tell: Tell) -> LabState:
    state = _draft(spec, directory)
    save(state)
    _write_files(state, spec)
    if spec.rdma:
        from fabricgauge.lab.guests import start as guests  # other labs need not wait for it

        state = guests.start(state, spec.nodes, tell)
        _write_table(state)
    else:
        state = _bring_up_namespaces(spec, state)
    state = msgspec.structs.replace(state, complete=True)
    save(state)
    return state


def _bring_up_namespaces(spec: LabSpec, state: LabState) -> LabState:
    if spec.slurm:
        cluster.write_files(Path(state.directory) / "slurm", spec.nodes)
    switch = _hold(state, "", None)
    state = msgspec.structs.replace(state, switch=switch, net_inodes=(switch.net_inode,))
    names = (HEAD, *spec.nodes)
    holders = _each(lambda name: _hold(state, name, switch), names)
    nodes = tuple(map(LabNode, names, range(len(names)), holders))
    inodes = (switch.net_inode, *(node.holder.net_inode for node in nodes))
    state = msgspec.structs.replace(state, nodes=nodes, net_inodes=inodes)
    save(state)
    _write_table(state)
    _wire(state, switch)
    if spec.slurm:
        state = cluster.start_all(state)
    return state


def _draft(spec: LabSpec, directory: Path) -> LabState:
    return LabState(
        name=spec.name,
        directory=str(directory),
        token=secrets.token_hex(8),
        boot_id=boot_id(),
        created_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rootless=os.geteuid() != 0,
        congestion_control=_congestion_control(),
        networks=tuple(
            LabNetwork(network.name, index, network.rate_bit_s, network.mtu_bytes, subnet(index))
            for index, network in enumerate(spec.networks)
        ),
        rdma=spec.rdma,
    )


def _congestion_control() -> str:
    """cubic where the machine lets namespaces choose it, else reno, which is always there.

    A namespace may only choose from the machine's own list, and that is not ours to change.
    """
    try:
        allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    except OSError:
        return "reno"
    return "cubic" if "cubic" in allowed else "reno"


def _write_files(state: LabState, spec: LabSpec) -> None:
    directory = Path(state.directory)
    nodes = (HEAD, *spec.nodes)
    write_hosts(directory, [network.name for network in spec.networks], nodes)
    (directory / "hostnames").mkdir()
    for name in nodes:
        (directory / "hostnames" / name).write_text(f"{name}\n")
    (directory / "config.toml").write_text(_site_file(state))
    for script in ("enter", "agent"):
        shutil.copyfile(_HERE / f"{script}.sh", directory / script)
        (directory / script).chmod(0o700)


def _site_file(state: LabState) -> str:
    """What a check that is started inside the lab cannot read from its drivers: line rates."""
    return "".join(
        "[[network]]\n"
        f"name = {json.dumps(network.name)}\n"
        f"subnet = {json.dumps(network.subnet)}\n"
        f'rate = "{network.rate_bit_s:.0f}"\n'
        for network in state.networks
    )


def _write_table(state: LabState) -> None:
    """What ``enter`` needs to know of each node, one file per node."""
    table = Path(state.directory) / "table"
    table.mkdir()
    for node in state.nodes:
        line = f"{node.holder.pid} {node.holder.start_ticks} {state.token}\n"
        (table / node.name).write_text(line)


#: What lets an ordinary user make namespaces.
_ALLOW = (
    "allow user namespaces (sysctl user.max_user_namespaces above 0, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0 "
    "where the kernel has them), or run as root"
)


def _hold(state: LabState, node: str, switch: NodeHolder | None) -> NodeHolder:
    """Start the process that holds a node's namespaces; the switch has an empty name.

    Without root the switch comes with the user namespace that owns the whole lab.
    """
    fresh = ["--net", "--uts", "--ipc", "--mount", "--propagation", "slave"]
    outer = []
    if state.rootless and not switch:
        fresh = ["--user", "--map-root-user", *fresh]
    elif switch and (options := holder.user_options(switch.pid)):
        outer = [tools.path_of("nsenter"), "--target", str(switch.pid), *options, "--"]
    unshare = [*outer, tools.path_of("unshare"), *fresh]
    queues = (socket_queue_bytes(one.rate_bit_s, one.mtu_bytes) for one in state.networks)
    words = [node, state.directory, state.congestion_control, str(max(queues))]
    remedy = _ALLOW if state.rootless else "in a container, start it with --privileged"
    cannot = f"cannot make the namespaces of {node or 'the switch'}"
    pid = started(unshare, _HERE / "hold.py", words, {HOLDER_MARK: state.token}, cannot, remedy)
    return holder.assert_own_namespace(identify(pid))


def _wire(state: LabState, switch: NodeHolder) -> None:
    holder.batch(switch, "ip", cabling.switch_links(state))
    holder.batch(switch, "tc", cabling.switch_shaping(state))
    _each(lambda node: _connect(state, node), state.nodes)


def _connect(state: LabState, node: LabNode) -> None:
    holder.batch(node.holder, "ip", cabling.node_links(state, node))
    holder.batch(node.holder, "tc", cabling.node_shaping(state))


def _each(action: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """Do the same for all nodes side by side; the first failure is raised."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(action, items))


def down(name: str) -> bool:
    """End every process of a lab and remove its directory; false if there was no such lab.

    Its interfaces go with its namespaces. Works on a lab that did not come up completely,
    that lost processes, or that an earlier boot of the machine left behind.

    Raises:
        LabError: a process does not end, or the directory is not this user's alone, cannot be
            removed, or holds a mount or a file that no lab writes: then it stays as it is.
    """
    directory = existing(name)
    if directory is None:
        return False
    marks = load_marks(directory)
    if marks:
        kill(marks)
    try:
        reasons = remove_folder(directory, FILES if marks else ())
    except FileNotFoundError:  # another `down` was quicker
        return True
    except OSError as error:
        raise LabError(f"cannot remove {directory}: {error.strerror}; remove it by hand") from error
    if reasons:
        holds = "its processes ended" if marks else "the folder holds no lab"
        raise LabError(
            f"lab {name!r}: {holds}, nothing in {directory} was removed. {'; '.join(reasons)};"
            f" then run 'fabricgauge lab down --name {name}' again"
        )
    return True
