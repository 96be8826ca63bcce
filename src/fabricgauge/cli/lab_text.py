"""A lab, its faults and its daemons, as ``fabricgauge lab`` prints and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricgauge.lab.fault_kinds import KINDS, LabFault
from fabricgauge.lab.state import LabState
from fabricgauge.model.errors import UsageError
from fabricgauge.settings import rate_bit_s
from fabricgauge.words.figures import link_rate

if TYPE_CHECKING:
    from fabricgauge.lab.status import DaemonStatus, LabStatus


def summary_text(state: LabState) -> str:
    """What the lab was made as: nodes, networks, and Slurm if it has one."""
    lines = [f"lab {state.name}: {', '.join(node.name for node in state.nodes)}"]
    lines += [
        f"  {network.name}: {network.subnet} on {network.interface}, "
        f"{link_rate(network.rate_bit_s)} per direction, MTU {network.mtu_bytes}"
        for network in state.networks
    ]
    if state.rdma:
        lines.append(f"  virtual machines with {state.rdma}, emulated: their speed means nothing")
        return "\n".join(lines)
    lines.append(f"  TCP congestion control: {state.congestion_control}")
    if state.slurm:
        lines.append("  Slurm: partition normal, controller on head")
    return "\n".join(lines)


def daemon_text(daemon: DaemonStatus) -> str:
    """One daemon of the lab's Slurm, and whether it runs."""
    state = f"runs (process {daemon.pid})" if daemon.running else "does not run"
    return f"Slurm: {daemon.program} on {daemon.node} {state}"


def status_text(found: LabStatus) -> str:
    """A lab as it is now: what it was made as, what is broken, faults, daemons."""
    if not isinstance(found.state, LabState):
        return f"lab {found.name}: broken: {found.state.reason}"
    lines = [summary_text(found.state)]
    if not found.standing:
        why = _why_broken(found.state, found.dead) if found.dead else "`up` did not finish"
        lines.append(f"  broken: {why}; remove it with 'fabricgauge lab down --name {found.name}'")
    lines += [f"  fault: {_wrong(fault)}" for fault in found.state.faults]
    lines += [f"  {daemon_text(daemon)}" for daemon in found.slurm]
    return "\n".join(lines)


def _why_broken(state: LabState, dead: tuple[str, ...]) -> str:
    names = ", ".join(dead)
    if state.rdma:
        consoles = " and ".join(f"{state.directory}/console.{name}" for name in dead)
        return f"the virtual machine of {names} has ended; its last words are in {consoles}"
    return f"no process holds {names}"


def faults_text(state: LabState) -> str:
    """The faults in force, one a line."""
    lines = [f"fault: {_wrong(fault)}" for fault in state.faults]
    return "\n".join(lines) or f"lab {state.name}: no fault in force"


def _wrong(fault: LabFault) -> str:
    said = {"where": fault.where, "amount": fault.amount, "text": fault.text}
    figures = {"rate": link_rate(fault.amount), "percent": fault.amount * 100}
    return KINDS[fault.kind].wrong.format(**said, **figures)


def parse_fault(kind: str, node: str, network: str, value: str | None) -> LabFault:
    """The fault that the words describe; UsageError if VALUE is missing or too much."""
    wanted, where = KINDS[kind].value, f"lab fault {kind}"
    if bool(wanted) != (value is not None):
        raise UsageError(
            f"{where}: " + (f"needs {wanted}" if wanted else f"takes no value {value!r}")
        )
    if value is None:
        return LabFault(kind, node, network)
    if wanted == "RATE":
        return LabFault(kind, node, network, rate_bit_s(value))
    if wanted == "BYTES":
        return LabFault(kind, node, network, whole_bytes(value, where))
    if wanted == "PERCENT":
        return LabFault(kind, node, network, _number(value.removesuffix("%"), where) / 100)
    if wanted == "PER_S":
        return LabFault(kind, node, network, _number(value, where))
    if wanted == "NAME=IP" and "=" not in value:
        raise UsageError(f"{where}: {value!r} is not NAME=IP, e.g. c1=10.77.0.99")
    return LabFault(kind, node, network, text=value)


def whole_bytes(text: str, where: str) -> int:
    """A whole number of bytes; UsageError if it is not that."""
    if not text.isdecimal() or not text.isascii():
        raise UsageError(f"{where}: {text!r} is not a number of bytes")
    return int(text)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{where}: {text!r} is not a number") from error
