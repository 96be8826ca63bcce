"""Bring a lab up: namespaces, then cables, then shaping; report it; remove it in any state."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import msgspec

from fabricgauge.lab import cabling, holder, tools
from fabricgauge.lab import state as states
from fabricgauge.lab.cabling import socket_queue_bytes, write_hosts
from fabricgauge.lab.holder import HOLDER_MARK, boot_id, identify, is_alive, kill, start_script
from fabricgauge.lab.host_access import hold_lab
from fabricgauge.lab.spec import HEAD, LabSpec, all_networks, check_spec, subnet, subnet_v6
from fabricgauge.lab.state import (
    LabNetwork,
    LabNode,
    LabState,
    NodeHolder,
    find_directory,
    load_marks,
    save,
)
from fabricgauge.lab.tools import Notify, silent
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import LabError
from fabricgauge.model.features import load_role
from fabricgauge.store.files.writing import remove_folder

_SCRIPTS = Path(__file__).parent

#: Entries of a lab's directory; ``down`` removes nothing else.
FILES = (
    "lab.json", ".lab.json.*", "agent", "config.toml", "enter", "hostnames", "hosts", "memlock",
    "slurm", "table", "use",
    # virtual machines
    "cable*", "console.*", "furnish", "interfaces", "key", "key.pub", "known_hosts", "passwd",
    "pid.*", "ssh_config", "ssh_config.machine", "sshd_config",
)  # fmt: skip

_T = TypeVar("_T")
_R = TypeVar("_R")


def up(spec: LabSpec, notify: Notify = silent) -> LabState:
    """Make a lab that exists until ``down``; remove it again after a failure.

    Calls ``notify`` with a sentence before it downloads a kernel for virtual machines.

    Raises:
        LabError: the lab exists, the specification is not possible, or the machine forbids it.
        ToolMissing: a program of iproute2, util-linux or, if needed, Slurm is not installed.
    """
    check_spec(spec)
    programs = tools.GUEST_PROGRAMS if spec.rdma else tools.PROGRAMS
    tools.require((*programs, *tools.PROGRAMS) if spec.rdma and spec.slurm else programs)
    if spec.slurm:
        load_role("scheduler").require(spec.nodes)
    directory = states.create(spec.name)
    try:
        with hold_lab(spec.name):
            return _bring_up(spec, directory, notify)
    except BaseException:
        down(spec.name)
        raise


def _bring_up(spec: LabSpec, directory: Path, notify: Notify) -> LabState:
    state = LabState(
        name=spec.name,
        directory=str(directory),
        token=secrets.token_hex(8),
        boot_id=boot_id(),
        created_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rootless=os.geteuid() != 0,
        congestion_control=_congestion_control(),
        networks=tuple(
            LabNetwork(
                network.name,
                index,
                network.rate_bit_s,
                network.mtu_bytes,
                subnet_v6(index) if index and spec.rdma and spec.slurm else subnet(index),
            )
            for index, network in enumerate(all_networks(spec))
        ),
        rdma=spec.rdma,
    )
    save(state)
    _write_files(state, spec)
    if spec.slurm:
        load_role("scheduler").write_files(directory / "slurm", spec.nodes)
    if spec.rdma:
        state = _bring_up_machines(spec, state, notify)
    else:
        state = _bring_up_namespaces(spec, state)
    if spec.slurm:
        state = load_role("scheduler").start_all(state)
    state = msgspec.structs.replace(state, complete=True)
    save(state)
    return state


def _bring_up_machines(spec: LabSpec, state: LabState, notify: Notify) -> LabState:
    """Start the virtual machines and, for Slurm, the namespaces of the head."""
    if spec.slurm:
        head = LabNode(HEAD, 0, _start_holder(state, HEAD, None))
        inodes = (head.holder.net_inode,)
        state = msgspec.structs.replace(state, nodes=(head,), net_inodes=inodes)
        save(state)
    state = load_role("machines")(state, spec.nodes, notify)
    _write_table(state)
    return state


def _bring_up_namespaces(spec: LabSpec, state: LabState) -> LabState:
    switch = _start_holder(state, "", None)
    state = msgspec.structs.replace(state, switch=switch, net_inodes=(switch.net_inode,))
    names = (HEAD, *spec.nodes)
    holders = _run_parallel(lambda name: _start_holder(state, name, switch), names)
    nodes = tuple(map(LabNode, names, range(len(names)), holders))
    inodes = (switch.net_inode, *(node.holder.net_inode for node in nodes))
    state = msgspec.structs.replace(state, nodes=nodes, net_inodes=inodes)
    save(state)
    _write_table(state)
    _wire(state, switch)
    return state


def _congestion_control() -> str:
    """Return cubic if the machine lets namespaces choose it, else reno, which always exists.

    A namespace can choose only from the list of the machine, which a lab does not change.
    """
    try:
        allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    except OSError:
        return "reno"
    return "cubic" if "cubic" in allowed else "reno"


def _write_files(state: LabState, spec: LabSpec) -> None:
    directory = Path(state.directory)
    nodes = (HEAD, *spec.nodes)
    networks = [network for network in state.networks if ":" not in network.subnet]
    write_hosts(directory, [network.name for network in networks], nodes)
    (directory / "hostnames").mkdir()
    for name in nodes:
        (directory / "hostnames" / name).write_text(f"{name}\n")
    # A check inside the lab cannot read the line rates.
    (directory / "config.toml").write_text(
        "".join(
            "[[network]]\n"
            f"name = {json.dumps(network.name)}\n"
            f"subnet = {json.dumps(network.subnet)}\n"
            f'rate = "{network.rate_bit_s:.0f}"\n'
            for network in state.networks
        )
    )
    for script in ("enter", "agent"):
        shutil.copyfile(_SCRIPTS / f"{script}.sh", directory / script)
        (directory / script).chmod(0o700)


def _write_table(state: LabState) -> None:
    """Write one file per node with the facts that ``enter`` needs."""
    table = Path(state.directory) / "table"
    table.mkdir()
    for node in state.nodes:
        line = f"{node.holder.pid} {node.holder.start_ticks} {state.token}\n"
        (table / node.name).write_text(line)


#: The remedy if an ordinary user cannot make namespaces.
_ALLOW_NAMESPACES = (
    "allow user namespaces (sysctl user.max_user_namespaces above 0, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0 "
    "if the kernel has them), or run as root"
)


def _start_holder(state: LabState, node: str, switch: NodeHolder | None) -> NodeHolder:
    """Start the process that holds a node's namespaces; the switch has an empty name.

    Without root, the switch also makes the user namespace that owns the whole lab.
    """
    namespaces = ["--net", "--uts", "--ipc", "--mount", "--propagation", "slave"]
    outer = []
    if state.rootless and not switch:
        namespaces = ["--user", "--map-root-user", *namespaces]
    elif switch and (options := holder.user_options(switch.pid)):
        outer = [tools.path_of("nsenter"), "--target", str(switch.pid), *options, "--"]
    unshare = [*outer, tools.path_of("unshare"), *namespaces]
    queues = (
        socket_queue_bytes(network.rate_bit_s, network.mtu_bytes) for network in state.networks
    )
    words = [node, state.directory, state.congestion_control, str(max(queues))]
    remedy = _ALLOW_NAMESPACES if state.rootless else "in a container, start it with --privileged"
    failure = f"cannot make the namespaces of {node or 'the switch'}"
    mark = {HOLDER_MARK: state.token}
    pid = start_script(unshare, _SCRIPTS / "hold.py", words, mark, failure, remedy)
    identified = identify(pid)
    if identified.net_inode == holder.net_inode(os.getpid()):
        raise LabError("the lab's namespaces were not made; nothing was changed")
    return identified


def _wire(state: LabState, switch: NodeHolder) -> None:
    holder.batch(switch, "ip", cabling.switch_links(state))
    holder.batch(switch, "tc", cabling.switch_shaping(state))
    _run_parallel(lambda node: _connect(state, node), state.nodes)


def _connect(state: LabState, node: LabNode) -> None:
    holder.batch(node.holder, "ip", cabling.node_links(state, node))
    holder.batch(node.holder, "tc", cabling.node_shaping(state))


def _run_parallel(action: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """Call ``action`` for all items at the same time; raise the first failure."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(action, items))


def down(name: str) -> bool:
    """End all processes of a lab and remove its directory; return False if no such lab exists.

    The kernel removes the interfaces with the namespaces. Works for a lab that is incomplete, that
    lost processes, or that exists since an earlier boot of the machine.

    Raises:
        LabError: a process does not end, others can write the directory, or it cannot be removed
            or holds a mount or a foreign file; the directory then does not change.
    """
    directory = find_directory(name)
    if directory is None:
        return False
    marks = load_marks(directory)
    if marks:
        kill(marks)
    try:
        reasons = remove_folder(directory, FILES if marks else ())
    except FileNotFoundError:  # another `down` was faster
        return True
    except OSError as error:
        raise LabError(f"cannot remove {directory}: {error.strerror}; remove it by hand") from error
    if reasons:
        lab_state = "its processes have ended" if marks else "the folder holds no lab"
        raise LabError(
            f"lab {name!r}: {lab_state}; {directory} was not removed. {'; '.join(reasons)};"
            f" then run 'fabricgauge lab down {name}' again"
        )
    return True


class DaemonStatus(msgspec.Struct, frozen=True):
    """A daemon of the lab's Slurm; ``pid`` is the process of its last start."""

    program: str
    node: str
    pid: int
    running: bool


class LabStatus(msgspec.Struct, frozen=True):
    """A lab and its present state.

    ``dead`` names nodes whose holder process has ended. ``slurm`` is empty for a lab without Slurm.
    A user may have stopped a daemon, so the lab is ``standing`` without it.
    """

    name: str
    standing: bool
    state: LabState | Skipped
    dead: tuple[str, ...] = ()
    slurm: tuple[DaemonStatus, ...] = ()


def status(name: str | None = None) -> tuple[LabStatus, ...]:
    """Return the status of one lab, or of all labs of this user.

    Raises:
        LabError: no lab has the name ``name``.
    """
    if name is not None and name not in states.names():
        states.load(name)
    return tuple(_status(lab) for lab in ([name] if name is not None else states.names()))


def _status(name: str) -> LabStatus:
    try:
        state = states.load(name)
    except LabError as error:
        return LabStatus(name, False, Skipped(str(error)))
    same_boot = state.boot_id == boot_id()
    holders = {"switch": state.switch, **{node.name: node.holder for node in state.nodes}}
    dead = tuple(
        name for name, holder in holders.items() if holder and not (same_boot and is_alive(holder))
    )
    daemons = tuple(
        DaemonStatus(
            daemon.program, daemon.node, daemon.process.pid, same_boot and is_alive(daemon.process)
        )
        for daemon in state.slurm
    )
    return LabStatus(name, state.complete and not dead, state, dead, daemons)
