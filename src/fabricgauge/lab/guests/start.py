"""Bring the guests of a lab up: their files, their processes, and the wait until they stand."""

import os
import socket
import time
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.lab import tools
from fabricgauge.lab.guests import qemu
from fabricgauge.lab.guests.image import Image, image
from fabricgauge.lab.guests.packages import Tell
from fabricgauge.lab.guests.qemu import Guest
from fabricgauge.lab.holder import HOLDER_MARK, identify, is_alive
from fabricgauge.lab.state import LabNode, LabState, save
from fabricgauge.model.errors import LabError

_HERE = Path(__file__).parent

#: Starting QEMU takes milliseconds. A guest stands after some seconds, later on a busy machine.
_START_TIMEOUT_S, _STAND_TIMEOUT_S, _POLL_S = 60.0, 300.0, 0.1

#: How much of a console's end tells why a guest ended.
_LAST_LINES, _LAST_BYTES = 3, 4096


def start(state: LabState, names: tuple[str, ...], tell: Tell) -> LabState:
    """The lab with its two guests, which stand.

    Raises:
        ToolMissing: QEMU, ssh or another program is not installed.
        LabError: no kernel can be had, or a guest does not come up.
    """
    made = image(qemu.DRIVERS[state.rdma], tell)
    pairs = zip(names, reversed(names), strict=True)
    guests = [
        Guest(name, number, peer, _free_port()) for number, (name, peer) in enumerate(pairs, 1)
    ]
    _write_files(state, guests)
    nodes = tuple(_started(state, guest, made) for guest in guests)
    state = msgspec.structs.replace(state, nodes=nodes)
    save(state)
    _wait(state)
    return state


def _free_port() -> int:
    """A port of the loopback that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _write_files(state: LabState, guests: list[Guest]) -> None:
    directory = Path(state.directory)
    (directory / "interfaces").mkdir()
    for guest in guests:
        (directory / "interfaces" / guest.name).write_text(qemu.interfaces(state, guest))
    for script in ("furnish", "sshd_config", "ssh_config"):
        (source,) = _HERE.glob(f"{script}*")
        text = source.read_text().replace("@LAB@", str(directory))
        (directory / script).write_text(text)
    ports = (f"Host {guest.name}\n  HostName 127.0.0.1\n  Port {guest.port}\n" for guest in guests)
    common = (directory / "ssh_config").read_text()
    (directory / "ssh_config.machine").write_text("".join(ports) + common)
    root = f"root:x:0:0:root:{Path.home()}:/bin/sh\n"
    (directory / "passwd").write_text(root + _others(Path("/etc/passwd").read_text()))
    _write_key(directory)


def _others(passwd: str) -> str:
    """The lines of /etc/passwd but root's."""
    return "".join(one for one in passwd.splitlines(True) if not one.startswith("root:"))


def _write_key(directory: Path) -> None:
    """One key serves the guests as their own and this user as his: it opens nothing else."""
    key = str(directory / "key")
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", key]
    done = process.run(argv, timeout_s=_START_TIMEOUT_S)
    if done.exit_code:
        raise LabError(f"ssh-keygen failed: {done.stderr.strip()}; make room in {directory}")
    public = (directory / "key.pub").read_text()
    (directory / "known_hosts").write_text(f"lab {public}")


def _started(state: LabState, guest: Guest, made: Image) -> LabNode:
    done = process.run(
        qemu.command(state, guest, made), timeout_s=_START_TIMEOUT_S, cwd=Path("/"),
        env={HOLDER_MARK: state.token, "PATH": tools.SEARCH_PATH},
    )  # fmt: skip
    try:
        pid = int(qemu.pid_file(state, guest.name).read_text())
    except (OSError, ValueError):
        said = " ".join(done.stderr.split()) or "no reason given"
        raise LabError(
            f"QEMU does not start {guest.name}: {said:.500}; bring it up again"
        ) from None
    return LabNode(guest.name, guest.index, identify(pid))


def _wait(state: LabState) -> None:
    """Until both guests have said that they stand.

    Raises:
        LabError: one ended, or said nothing for too long.
    """
    deadline = time.monotonic() + _STAND_TIMEOUT_S
    for node in state.nodes:
        while f"fabricgauge: {node.name} stands" not in last_words(state, node.name, 100):
            if not is_alive(node.holder):
                raise LabError(
                    f"the virtual machine {node.name} ended while it started: "
                    f"{last_words(state, node.name)}"
                )
            if time.monotonic() > deadline:
                raise LabError(
                    f"the virtual machine {node.name} did not stand after {_STAND_TIMEOUT_S:g} s; "
                    f"it said last: {last_words(state, node.name)}"
                )
            time.sleep(_POLL_S)


def last_words(state: LabState, node: str, lines: int = _LAST_LINES) -> str:
    """The end of a guest's console in one line."""
    try:
        with qemu.console(state, node).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            said = file.read().decode(errors="replace")
    except OSError:
        said = ""
    kept = ["".join(filter(str.isprintable, one)).strip() for one in said.splitlines()]
    return " / ".join([one for one in kept if one][-lines:]) or "nothing"
