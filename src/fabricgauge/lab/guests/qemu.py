"""The command of one guest: QEMU without KVM, as an ordinary user (qemu-system(1), 7.2)."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.lab.guests.image import Image
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabState

PROGRAM = "qemu-system-x86_64"

#: Registering 256 MiB and a copy of it, an MPI, and the layer of files written must fit.
_MEMORY_MIB = 1024

#: Kernel parameters (Linux, admin-guide/kernel-parameters): a kernel that stops ends its guest,
#: and nothing is spent on defences or clocks that an emulated processor has no use for.
_KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 net.ifnames=0 nokaslr nowatchdog no_timer_check mitigations=off "
    "rodata=off init_on_alloc=0"
)

#: All that QEMU emulates but page tables of five levels (four are quicker to walk) and cmpxchg16b:
#: before 8.0 its flags now and then are a stray word, and the kernel's allocator uses it often.
_PROCESSOR = "max,la57=off,cx16=off"

#: What speaks the verbs: rdma(8)'s type of link, and the device's name for a network's index.
DRIVERS = {"roce": "rxe", "iwarp": "siw"}


class Guest(msgspec.Struct, frozen=True):
    """A node that is a virtual machine; ``index`` counts from 1, ``peer`` has the cables' other
    ends, and at ``port`` of this machine's loopback its sshd answers."""

    name: str
    index: int
    peer: str
    port: int


def device(state: LabState, network: LabNetwork) -> str:
    """The name of the RDMA device on a node's interface of that network."""
    return f"{DRIVERS[state.rdma]}{network.index}"


def command(state: LabState, node: Guest, image: Image) -> list[str]:
    """The argv that starts a guest; it goes to the background and writes its process id down."""
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
    """What the guest's kernel and its first programs print."""
    return Path(state.directory) / f"console.{node}"


def pid_file(state: LabState, node: str) -> Path:
    return Path(state.directory) / f"pid.{node}"


def _cable(state: LabState, node: Guest, network: LabNetwork) -> Iterator[str]:
    """The node's end of a cable between the two: a datagram socket at either end."""
    own, others = (
        _safe(Path(state.directory) / f"cable{network.index}.{name}")
        for name in (node.name, node.peer)
    )
    end = f"n{network.index}"
    yield "-netdev"
    yield (f"dgram,id={end},local.type=unix,local.path={own},remote.type=unix,remote.path={others}")
    yield "-device"
    yield (
        f"virtio-net-pci,netdev={end},mac=52:54:00:77:{network.index:02x}:{node.index:02x},"
        f"speed={network.rate_bit_s / 1e6:.0f},duplex=full,romfile="
    )


def _safe(path: Path) -> str:
    """A path within a list of QEMU's options, where a comma is written twice."""
    return str(path).replace(",", ",,")


def interfaces(state: LabState, node: Guest) -> str:
    """What ``furnish`` reads: a line per network: interface, address, MTU, driver, device."""
    return "".join(
        f"{one.interface} {address(one.index, node.index)}/{one.subnet.rpartition('/')[2]} "
        f"{one.mtu_bytes} {DRIVERS[state.rdma]} {device(state, one)}\n"
        for one in state.networks
    )
