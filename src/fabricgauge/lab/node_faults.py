"""Faults on a node itself: its hosts file, its limits, and what it is sent without asking."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.lab import hosts, inside, tools
from fabricgauge.lab.fault_kinds import Fault, MemoryLock, StrayFrames
from fabricgauge.lab.holder import ENTERED_MARK, identify, is_alive
from fabricgauge.lab.state import Holder, LabState, Sender
from fabricgauge.model.errors import LabError

#: A node's limit of locked memory in bytes, in a file of its name; ``enter`` reads it.
LIMITS = "memlock"

_STRAY = Path(__file__).with_name("stray.py")
_START_TIMEOUT_S = 30.0


def apply(state: LabState) -> LabState:
    """Make the nodes what the faults in force say; the senders that run now are in the result.

    Raises:
        LabError: a sender cannot be started.
    """
    networks = [network.name for network in state.networks]
    nodes = [node.name for node in state.nodes]
    hosts.write(Path(state.directory), networks, nodes, state.faults)
    _limit(Path(state.directory) / LIMITS, state.faults)
    return msgspec.structs.replace(state, senders=_senders(state))


def _limit(folder: Path, faults: Sequence[Fault]) -> None:
    limits = {one.node: one.limit_bytes for one in faults if isinstance(one, MemoryLock)}
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in limits:
            old.unlink()
    for node, limit_bytes in limits.items():
        (folder / node).write_text(f"{limit_bytes // 1024}\n")


def _senders(state: LabState) -> tuple[Sender, ...]:
    """All senders are started anew: a change of their rate is then nothing special."""
    for sender in state.senders:
        if is_alive(sender.process):
            with suppress(ProcessLookupError):
                os.kill(sender.process.pid, signal.SIGKILL)
    return tuple(
        Sender(fault.node, fault.network, _start(state, fault))
        for fault in state.faults
        if isinstance(fault, StrayFrames)
    )


def _start(state: LabState, fault: StrayFrames) -> Holder:
    """Send from the switch's port: only this node gets the frames."""
    if state.switch is None:
        raise LabError(f"lab {state.name!r} has no switch; bring it down and up again")
    port = state.network(fault.network).port(state.node(fault.node))
    enter = [tools.path_of("setsid"), "--fork", *inside.network_prefix(state.switch)]
    argv = [sys.executable, "-I", "-S", str(_STRAY), port, f"{fault.per_s:g}"]
    done = process.run([*enter, *argv], timeout_s=_START_TIMEOUT_S, env={ENTERED_MARK: state.token})
    if not done.stdout.strip().isdigit():
        reason = done.stderr.strip() or "no reason given"
        raise LabError(f"cannot send stray frames to {fault.node} in {fault.network}: {reason}")
    return identify(int(done.stdout))
