"""Text of labs, faults and daemons, as ``fabricgauge lab`` prints and reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricgauge.lab.spec import KINDS
from fabricgauge.lab.state import LabFault, LabState
from fabricgauge.model.errors import UsageError
from fabricgauge.model.words.figures import link_rate
from fabricgauge.store.settings import rate_bit_s

if TYPE_CHECKING:
    from fabricgauge.lab.up import DaemonStatus, LabStatus


def summary_text(state: LabState) -> str:
    """Return the lab's nodes and networks, and its Slurm if it has one."""
    lines = [f"lab {state.name}: {', '.join(node.name for node in state.nodes)}"]
    lines += [
        f"  {network.name}: {network.subnet} on {network.interface}, "
        f"{link_rate(network.rate_bit_s)} per direction, MTU {network.mtu_bytes}"
        for network in state.networks
    ]
    if state.rdma:
        lines.append(f"  virtual machines with emulated {state.rdma}: ignore their speed")
    else:
        lines.append(f"  TCP congestion control: {state.congestion_control}")
    if state.slurm:
        lines.append("  Slurm: partition normal, controller on head")
    return "\n".join(lines)


def daemon_text(daemon: DaemonStatus) -> str:
    """Return one daemon of the lab's Slurm, and whether it runs."""
    state = f"runs (process {daemon.pid})" if daemon.running else "does not run"
    return f"Slurm: {daemon.program} on {daemon.node} {state}"


def status_text(status: LabStatus) -> str:
    """Return the present state of a lab: nodes, networks, what is broken, faults, daemons."""
    if not isinstance(status.state, LabState):
        return f"lab {status.name}: broken: {status.state.reason}"
    lines = [summary_text(status.state)]
    if not status.standing:
        reason = "`up` did not finish"
        if status.dead:
            reason = _describe_dead_nodes(status.state, status.dead)
        command = f"fabricgauge lab down {status.name}"
        lines.append(f"  broken: {reason}; remove it with '{command}'")
    lines += [f"  fault: {_describe_fault(fault)}" for fault in status.state.faults]
    lines += [f"  {daemon_text(daemon)}" for daemon in status.slurm]
    return "\n".join(lines)


def _describe_dead_nodes(state: LabState, dead: tuple[str, ...]) -> str:
    machines = [node.name for node in state.nodes if state.rdma and node.index]
    ended = [name for name in dead if name in machines]
    if not ended:
        return f"no process holds {', '.join(dead)}"
    consoles = " and ".join(f"{state.directory}/console.{name}" for name in ended)
    names = ", ".join(ended)
    return f"the virtual machine of {names} has ended; see its last output in {consoles}"


def faults_text(state: LabState) -> str:
    """Return the active faults, one per line."""
    lines = [f"fault: {_describe_fault(fault)}" for fault in state.faults]
    return "\n".join(lines) or f"lab {state.name}: no active faults"


def _describe_fault(fault: LabFault) -> str:
    return KINDS[fault.kind].wrong.format(
        where=fault.where, amount=fault.amount, text=fault.text,
        rate=link_rate(fault.amount), percent=fault.amount * 100,
    )  # fmt: skip


def parse_fault(kind: str, node: str, network: str, value: str | None) -> LabFault:
    """Return the fault that the words describe; UsageError if VALUE is missing or not expected."""
    value_form, command = KINDS[kind].value, f"lab fault {kind}"
    if bool(value_form) != (value is not None):
        raise UsageError(
            f"{command}: " + (f"needs {value_form}" if value_form else f"takes no value {value!r}")
        )
    if value is None:
        return LabFault(kind, node, network)
    if value_form == "RATE":
        return LabFault(kind, node, network, rate_bit_s(value))
    if value_form == "BYTES":
        return LabFault(kind, node, network, parse_bytes(value, command))
    if value_form == "PERCENT":
        return LabFault(kind, node, network, _parse_number(value.removesuffix("%"), command) / 100)
    if value_form == "PER_S":
        return LabFault(kind, node, network, _parse_number(value, command))
    if value_form == "NAME=IP" and "=" not in value:
        raise UsageError(f"{command}: {value!r} is not NAME=IP, e.g. c1=10.77.0.99")
    return LabFault(kind, node, network, text=value)


def parse_bytes(text: str, command: str) -> int:
    """Return a whole number of bytes; UsageError, which begins with ``command``, for other text."""
    if not text.isdecimal() or not text.isascii():
        raise UsageError(f"{command}: {text!r} is not a number of bytes")
    return int(text)


def _parse_number(text: str, command: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{command}: {text!r} is not a number") from error
