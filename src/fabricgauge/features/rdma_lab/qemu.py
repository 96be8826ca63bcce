"""Build the command of one guest: QEMU without KVM, as an ordinary user (qemu-system(1), 7.2)."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.features.rdma_lab.image import Image
from fabricgauge.lab.spec import HEAD, address, address_v6
from fabricgauge.lab.state import LabNetwork, LabState

PROGRAM = "qemu-system-x86_64"

#: Memory for 256 MiB of registered memory and a copy, an MPI, and the layer of written files.
_MEMORY_MIB = 1024

#: Kernel parameters (Linux, admin-guide/kernel-parameters): a panic ends the guest; defences and
#: clocks that an emulated processor does not need are off.
_KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 net.ifnames=0 nokaslr nowatchdog no_timer_check mitigations=off "
    "rodata=off init_on_alloc=0"
)

#: All features that QEMU emulates except page tables of five levels (four are faster) and
#: cmpxchg16b: before QEMU 8.0 its flags are sometimes wrong, and the kernel's allocator needs them.
_PROCESSOR = "max,la57=off,cx16=off"

#: Driver of each kind of RDMA: the link type of rdma(8), and the prefix of the device names.
DRIVERS = {"roce": "rxe", "iwarp": "siw"}


class Guest(msgspec.Struct, frozen=True):
    """A node that is a virtual machine.

    ``index`` counts from 1. ``peer`` is the node at the other end of the cables. Its sshd listens
    on ``port`` of this machine's loopback.
    """

    name: str
    index: int
    peer: str
    port: int


def device(state: LabState, network: LabNetwork) -> str:
    """Return the name of the RDMA device on a node's interface in that network."""
    return f"{DRIVERS[state.rdma]}{network.index}"


def command(state: LabState, node: Guest, image: Image) -> list[str]:
    """Return the argv that starts a guest; QEMU becomes a daemon and writes its process id."""
    directory = Path(state.directory)
    return [
        PROGRAM, "-name", f"{state.name}-{node.name}", "-nodefaults", "-no-user-config",
        "-display", "none", "-no-reboot", "-accel", "tcg", "-cpu", _PROCESSOR, "-smp", "1",
        "-m", str(_MEMORY_MIB),
        "-daemonize", "-pidfile", str(pid_file(state, node.name)),
        "-serial", f"file:{_safe(console(state, node.name))}",
        "-kernel", str(image.kernel), "-initrd", str(image.initrd),
        "-append", f'{_KERNEL_WORDS} lab="{directory}" node="{node.name}" '
        f"interface_in=eth{len(state.networks)}",
        "-fsdev", "local,id=machine,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=machine,mount_tag=machine",
        *(word for network in state.networks for word in _cable(state, node, network)),
        "-netdev", f"user,id=door,restrict=on,hostfwd=tcp:127.0.0.1:{node.port}-:22",
        "-device", "virtio-net-pci,netdev=door,romfile=",
    ]  # fmt: skip


def console(state: LabState, node: str) -> Path:
    """Return the file with the output of the guest's kernel and first programs."""
    return Path(state.directory) / f"console.{node}"


def pid_file(state: LabState, node: str) -> Path:
    return Path(state.directory) / f"pid.{node}"


def joins_head(state: LabState, network: LabNetwork) -> bool:
    """Check if a network joins the guests with the head; it has no RDMA ports then."""
    return network.index == 0 and any(not node.index for node in state.nodes)


def cable(state: LabState, network: LabNetwork, node: str) -> Path:
    """Return the socket of a node in a network; that of the head is the hub's."""
    return Path(state.directory) / f"cable{network.index}.{node}"


def _cable(state: LabState, node: Guest, network: LabNetwork) -> Iterator[str]:
    """Return the options for the node's end of a cable; each end is a datagram socket."""
    far_end = HEAD if joins_head(state, network) else node.peer
    local, remote = (_safe(cable(state, network, name)) for name in (node.name, far_end))
    netdev = f"n{network.index}"
    yield "-netdev"
    yield (
        f"dgram,id={netdev},local.type=unix,local.path={local},"
        f"remote.type=unix,remote.path={remote}"
    )
    yield "-device"
    yield (
        f"virtio-net-pci,netdev={netdev},mac=52:54:00:77:{network.index:02x}:{node.index:02x},"
        f"speed={network.rate_bit_s / 1e6:.0f},duplex=full,romfile="
    )


def _safe(path: Path) -> str:
    """Return a path for a list of QEMU options, in which a comma must be doubled."""
    return str(path).replace(",", ",,")


def interfaces(state: LabState, node: Guest) -> str:
    """Return ``furnish``'s input, a line per network: interface, address, MTU, driver, device.

    Hyphens replace driver and device of an interface without RDMA.
    """
    lines = []
    for network in state.networks:
        prefix = network.subnet.rpartition("/")[2]
        find_address = address_v6 if ":" in network.subnet else address
        ip = f"{find_address(network.index, node.index)}/{prefix}"
        has_rdma = not joins_head(state, network)
        driver = f"{DRIVERS[state.rdma]} {device(state, network)}" if has_rdma else "- -"
        lines.append(f"{network.interface} {ip} {network.mtu_bytes} {driver}\n")
    return "".join(lines)
