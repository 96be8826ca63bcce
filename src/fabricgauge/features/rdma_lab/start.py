"""Bring the guests of a lab up: write their files, start their processes, wait until ready."""

import os
import socket
import time
from pathlib import Path

import msgspec

from fabricgauge.features.rdma_lab import qemu
from fabricgauge.features.rdma_lab.image import Image, image
from fabricgauge.features.rdma_lab.qemu import Guest
from fabricgauge.lab import tools
from fabricgauge.lab.cabling import nominal_address
from fabricgauge.lab.holder import (
    HOLDER_MARK,
    batch,
    identify,
    is_alive,
    network_prefix,
    start_script,
)
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import LabNode, LabState, save
from fabricgauge.lab.tools import Notify
from fabricgauge.model.errors import LabError
from fabricgauge.nodes import process

_SCRIPTS = Path(__file__).parent
_HUB = _SCRIPTS / "hub.py"

#: QEMU starts in milliseconds. A guest is ready after some seconds, later on a busy machine.
_START_TIMEOUT_S, _READY_TIMEOUT_S, _POLL_S = 60.0, 300.0, 0.1

#: Part of a console's end that messages quote.
_LAST_LINES, _LAST_BYTES = 3, 4096


def start(state: LabState, names: tuple[str, ...], notify: Notify) -> LabState:
    """Start the lab's two guests; return its state when they are ready.

    If the lab has a head, a hub joins it with them.

    Raises:
        ToolMissing: QEMU, ssh or another program is not installed.
        LabError: no kernel is available, or a guest does not come up.
    """
    boot_image = image(qemu.DRIVERS[state.rdma], notify)
    pairs = zip(names, reversed(names), strict=True)
    guests = []
    for number, (name, peer) in enumerate(pairs, 1):
        # No program listens now on this port of the loopback.
        with socket.create_server(("127.0.0.1", 0)) as server:
            guests.append(Guest(name, number, peer, int(server.getsockname()[1])))
    _write_files(state, guests)
    if state.nodes:
        state = _start_hub(state, names)
    started = tuple(_start_guest(state, guest, boot_image) for guest in guests)
    state = msgspec.structs.replace(state, nodes=(*state.nodes, *started))
    save(state)
    _await_guests(state)
    return state


def _write_files(state: LabState, guests: list[Guest]) -> None:
    directory = Path(state.directory)
    (directory / "interfaces").mkdir()
    for guest in guests:
        (directory / "interfaces" / guest.name).write_text(qemu.interfaces(state, guest))
    for script in ("furnish", "sshd_config", "ssh_config"):
        (source,) = _SCRIPTS.glob(f"{script}*")
        text = source.read_text().replace("@LAB@", str(directory))
        (directory / script).write_text(text)
    ports = (f"Host {guest.name}\n  HostName 127.0.0.1\n  Port {guest.port}\n" for guest in guests)
    common = (directory / "ssh_config").read_text()
    (directory / "ssh_config.machine").write_text("".join(ports) + common)
    root = f"root:x:0:0:root:{Path.home()}:/bin/sh\n"
    users = Path("/etc/passwd").read_text().splitlines(True)
    other_users = "".join(user for user in users if not user.startswith("root:"))
    (directory / "passwd").write_text(root + other_users)
    _write_key(directory)


def _write_key(directory: Path) -> None:
    """Make one key, for the guests as hosts and for this user; it opens only this lab."""
    key = str(directory / "key")
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", key]
    completed = process.run(argv, timeout_s=_START_TIMEOUT_S)
    if completed.exit_code:
        raise LabError(f"ssh-keygen failed: {completed.stderr.strip()}; make room in {directory}")
    public = (directory / "key.pub").read_text()
    (directory / "known_hosts").write_text(f"lab {public}")


def _start_hub(state: LabState, names: tuple[str, ...]) -> LabState:
    head = state.node(HEAD)
    (network,) = (network for network in state.networks if qemu.joins_head(state, network))
    sockets = [str(qemu.cable(state, network, name)) for name in (HEAD, *names)]
    pid = start_script(
        network_prefix(head.holder), _HUB, [network.interface, *sockets],
        {HOLDER_MARK: state.token}, "cannot join the head with the virtual machines",
    )  # fmt: skip
    lines = (
        "link set lo up",
        f"link set {network.interface} mtu {network.mtu_bytes} up",
        f"addr add {nominal_address(network, head)} brd + dev {network.interface}",
    )
    batch(head.holder, "ip", lines)
    state = msgspec.structs.replace(state, switch=identify(pid))
    save(state)
    return state


def _start_guest(state: LabState, guest: Guest, boot_image: Image) -> LabNode:
    completed = process.run(
        qemu.command(state, guest, boot_image), timeout_s=_START_TIMEOUT_S, cwd=Path("/"),
        env={HOLDER_MARK: state.token, "PATH": tools.SEARCH_PATH},
    )  # fmt: skip
    try:
        pid = int(qemu.pid_file(state, guest.name).read_text())
    except (OSError, ValueError):
        reason = " ".join(completed.stderr.split()) or "no reason given"
        raise LabError(
            f"QEMU does not start {guest.name}: {reason:.500}; bring the lab up again"
        ) from None
    return LabNode(guest.name, guest.index, identify(pid))


def _await_guests(state: LabState) -> None:
    """Wait until both guests print that they are ready."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    for node in (node for node in state.nodes if node.index):
        while f"fabricgauge: {node.name} stands" not in last_output(state, node.name, 100):
            if not is_alive(node.holder):
                raise LabError(
                    f"the virtual machine {node.name} ended while it started; its last output: "
                    f"{last_output(state, node.name)}"
                )
            if time.monotonic() > deadline:
                raise LabError(
                    f"the virtual machine {node.name} was not ready after {_READY_TIMEOUT_S:g} s; "
                    f"its last output: {last_output(state, node.name)}"
                )
            time.sleep(_POLL_S)


def last_output(state: LabState, node: str, count: int = _LAST_LINES) -> str:
    """Return the last ``count`` lines of a guest's console as one line."""
    try:
        with qemu.console(state, node).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            output = file.read().decode(errors="replace")
    except OSError:
        output = ""
    lines = ["".join(filter(str.isprintable, line)).strip() for line in output.splitlines()]
    return " / ".join([line for line in lines if line][-count:]) or "nothing"
