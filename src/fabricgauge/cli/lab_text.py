"""A lab, its faults and its daemons, as ``fabricgauge lab`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricgauge.words.figures import link_rate

if TYPE_CHECKING:
    from fabricgauge.lab.fault_kinds import Fault
    from fabricgauge.lab.state import LabState
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
    from fabricgauge.lab.state import LabState

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


def _wrong(fault: Fault) -> str:
    from fabricgauge.lab import fault_kinds as kinds

    where = f"{fault.node} in {fault.network}"
    match fault:
        case kinds.LinkDown():
            return f"link of {where} is down"
        case kinds.RateLimit():
            way = {"in": " towards the node", "out": " from the node", "both": ""}[fault.direction]
            return f"link of {where} carries {link_rate(fault.rate_bit_s)}{way}"
        case kinds.PortRate():
            return f"port of {where} came up at {link_rate(fault.rate_bit_s)}"
        case kinds.MtuChange():
            return f"interface of {where} has MTU {fault.mtu_bytes}"
        case kinds.AddressChange():
            return f"interface of {where} has address {fault.address}"
        case kinds.HostsEntry():
            return f"on {fault.node}, {fault.name} means {fault.ip} (in {fault.network})"
        case kinds.Loss():
            return f"link of {where} loses {fault.share * 100:g} % of the frames"
        case kinds.StrayFrames():
            return f"{where} is sent {fault.per_s:g} stray frames a second"
        case kinds.MemoryLock():
            return f"programs on {fault.node} may lock {fault.limit_bytes:,} bytes of memory"
