"""One start of a suite's program: raw output first, then its lines, no orphans."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.files import writing
from fabricgauge.files.reading import read_text
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host, LaunchCommand
from fabricgauge.model.run import RANK_SAYS, Ended
from fabricgauge.process import MARKER, ChildGroup, ProgramStream, end_marked
from fabricgauge.run.environment import kept_back
from fabricgauge.run.launch import keep_described, quoted, run_of, tail

READY_S = 15.0

#: Waits a second for a port to be listened on; its arguments are that port as four hex digits and
#: as a decimal number. The state 0A is TCP_LISTEN (linux/net/tcp_states.h). A program that waits
#: for RDMA connections alone listens to no socket: `rdma` of iproute2 lists it.
_LISTENS = (
    "PATH=$PATH:/usr/sbin:/sbin; "
    "n=0; while [ $n -lt 10 ]; do for f in /proc/net/tcp /proc/net/tcp6; do "
    '[ -r $f ] && grep -q ":$1 [0-9A-F]*:0000 0A" $f && exit 0; done; '
    'rdma resource show cm_id 2>/dev/null | grep -q "state LISTEN .*:$2 " && exit 0; '
    "sleep 0.1; n=$((n+1)); done; exit 1"
)

#: The GPU nearest to the adapter: the first one below the lowest PCI bridge that both are below.
#: Numbers are those of the bus, as NVIDIA's CUDA_DEVICE_ORDER=PCI_BUS_ID has them. If one of the
#: variables is set already, that choice stays.
_NEAREST_GPU = (
    "v=$CUDA_VISIBLE_DEVICES$HIP_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES; "
    'k=; p=$(readlink -f "/sys/class/net/$i/device"); '
    'while p=${p%/*}; [ -n "$d" ] && [ -z "$v" ] && case $p in */pci*) ;; *) false ;; esac; do '
    "for k in nvidia amdgpu; do n=0; for f in /sys/bus/pci/drivers/$k/*:*; do "
    'case $(readlink -f "$f") in "$p"/*) v=$n; break 2 ;; esac; n=$((n+1)); done; done; done; '
    '[ -z "$d" ] || case $k-$v in nvidia-?*) export CUDA_DEVICE_ORDER=PCI_BUS_ID '
    'CUDA_VISIBLE_DEVICES="$v" ;; amdgpu-?*) export HIP_VISIBLE_DEVICES="$v" ;; esac'
)

#: What every rank or end of a program runs first: it says where it is, in the very launch that
#: measures, as the engine's ranks do; then the program takes its place.
#: Its arguments: the rank where no MPI tells it, HOST=INTERFACE for each node, ``gpu`` to take
#: one GPU, the nearest, ``--``, and the program with its arguments. All are data: none is read as
#: shell text.
#: Variables: PMI_RANK of MPICH and Intel MPI, OMPI_COMM_WORLD_RANK of Open MPI.
_SCRIPT = (
    "r=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$1}}}; shift; h=$(uname -n); i=; g=; "
    'while [ "$1" != -- ]; do case $1 in "$h="*) i=${1#*=} ;; gpu) g=1 ;; esac; shift; done; '
    'shift; d=$(ls "/sys/class/net/${i:-.}/device/infiniband" 2>/dev/null | head -n 1); '
    '[ -z "$i" ] || export FI_TCP_IFACE="$i" UCX_NET_DEVICES="$i" NCCL_SOCKET_IFNAME="=$i"; '
    '[ -z "$d" ] || export NCCL_IB_HCA="=$d"; '
    f'[ -z "$g" ] || {{ {_NEAREST_GPU}; }}; '
    "b=; read -r b </proc/sys/kernel/random/boot_id; n=$(readlink /proc/self/ns/net); "
    "c=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status); "
    "p=$(cut -d ' ' -f 39 /proc/$$/stat); "
    "u=$(ls -d /sys/devices/system/cpu/cpu$p/node* 2>/dev/null); u=${u##*/node}; "
    'printf "%srank=%s pid=%s boot_id=%s net=%s cpus=%s cpu=%s numa=%s interface=%s host=%s\\n" '
    f"'{RANK_SAYS}' "
    '"$r" "$$" "$b" "$n" "$c" "$p" "$u" "$i" "$h"; '
    'exec "$@"'
)


def telling(
    program: Sequence[str],
    interfaces: Mapping[str, str],
    rank: int = 0,
    *,
    nearest_gpu: bool = False,
) -> tuple[str, ...]:
    """The argv that tells its placement and then becomes ``program``.

    ``interfaces`` are those of the measured network by host name; MPI's TCP is bound to
    them, and NCCL to them and to their RDMA devices. Empty leaves MPI its own choice. ``rank``
    counts where no MPI gives one. With ``nearest_gpu`` the program sees no GPU but the one that is
    nearest to its RDMA device, where one is below the same PCI bridge.
    """
    pairs = tuple(f"{host}={interface}" for host, interface in sorted(interfaces.items()))
    pairs += ("gpu",) if nearest_gpu else ()
    return ("/bin/sh", "-c", _SCRIPT, "fabricgauge-rank", str(rank), *pairs, "--", *program)


#: A program whose input ends with the connection that started it: ssh without a terminal sends the
#: far side no signal, so that a server would wait there for ever.
_BOUND = (
    'exec 3<&0; "$@" 3<&- </dev/null & p=$!; '
    '(while IFS= read -r line; do :; done; kill -9 "$p") <&3 >/dev/null 2>&1 & w=$!; '
    'exec 3<&-; wait "$p"; s=$?; kill "$w" 2>/dev/null; exit "$s"'
)


def serving(host: Host, program: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs ``program`` on a host for as long as its own input is open.

    Processes of other launchers than ssh end with what started them.
    """
    bound = ("/bin/sh", "-c", _BOUND, "fabricgauge-server") if host.remote_shell else ()
    return tuple(host.through((*bound, *program)))


class SuiteLaunch(msgspec.Struct, frozen=True):
    """Commands of one start. ``ready`` ends well once the ``server`` can be connected to."""

    client: LaunchCommand
    server: LaunchCommand | None = None
    ready: tuple[str, ...] = ()


def listens(port: int) -> tuple[str, ...]:
    """The argv that waits on a node until ``port`` is listened on."""
    return ("/bin/sh", "-c", _LISTENS, "listens", f"{port:04X}", str(port))


def run_suite(
    launch: SuiteLaunch, raw_dir: Path, *, silent_s: float, marker: str,
    group: ChildGroup | None = None,
) -> tuple[Ended, tuple[str, ...]]:  # fmt: skip
    """Run a program to its end; how that was, and its lines.

    The server's word on where it runs comes first, then standard output, then standard
    error, to which NetPIPE writes its table.

    Output is in ``raw_dir`` (stdout.txt, stderr.txt, server.txt, server.err) as it comes.
    After ``silent_s`` without a line the program is ended. However it ends, also by an
    interrupt or through ``group``, every process that carries ``marker`` is ended.

    Raises:
        ToolMissing: the launcher does not exist.
        StoreError: the raw directory cannot be written.
    """
    began = time.monotonic()
    lines: tuple[str, ...] = ()
    with ExitStack() as at_end:
        at_end.callback(end_marked, marker)
        try:
            with writing.storing(raw_dir):
                client = _started(launch, raw_dir, silent_s, marker, group, at_end)
                lines = tuple(client)
                status, code, message = _ended(client, raw_dir)
        except CannotRun as error:
            status, code, message = "broken", None, str(error)
    ended = Ended(status, code, message, launch.client.argv, time.monotonic() - began)
    return ended, (*_lines(raw_dir / "server.txt")[:1], *lines, *_lines(raw_dir / "stderr.txt"))


def _started(
    launch: SuiteLaunch, raw_dir: Path, silent_s: float, marker: str, group: ChildGroup | None,
    at_end: ExitStack,
) -> ProgramStream:  # fmt: skip
    """The client, once its server listens, which is ended ``at_end``."""

    def stream(
        command: LaunchCommand, stdout: str, stderr: str, stdin: str | None = ""
    ) -> ProgramStream:
        return ProgramStream(
            command.argv, stdin=stdin, stdout=raw_dir / stdout, stderr=raw_dir / stderr,
            silent_s=silent_s, within=run_of(raw_dir), env={**command.env, MARKER: marker},
            without=kept_back(os.environ), group=group,
        )  # fmt: skip

    named = {"client": launch.client, "server": launch.server}
    keep_described(raw_dir, {name: one for name, one in named.items() if one is not None})
    if launch.server is not None:
        server = stream(launch.server, "server.txt", "server.err", stdin=None)
        at_end.callback(server.close)
        _await(launch, server, raw_dir)
    return stream(launch.client, "stdout.txt", "stderr.txt")


def _await(launch: SuiteLaunch, server: ProgramStream, raw_dir: Path) -> None:
    """Wait for the server; what it said tells why it is not there.

    Until it runs, and once it is over, what listens is another's.
    """
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and not server.over:
        runs = bool(_lines(raw_dir / "server.txt"))
        ready = process.run(launch.ready, timeout_s=READY_S).exit_code == 0
        if runs and ready and not server.over:
            return
    said = (*tail(raw_dir / "server.err"), *tail(raw_dir / "server.txt"))
    told = [line for line in said if not line.startswith(RANK_SAYS)]
    raise CannotRun(f"the server did not begin to listen{quoted(told)}")


def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(read_text(path, run_of(path)).splitlines())
    except OSError:
        return ()


def _ended(client: ProgramStream, raw_dir: Path) -> tuple[str, int | None, str]:
    """Status, exit status, and a sentence where it did not end well."""
    if client.silent:
        message = f"nothing came for {client.silent_s:g} s, so the program was ended"
        return "silent", client.exit_code, message
    if client.exit_code == 0:
        return "ok", 0, ""
    said = tail(raw_dir / "stderr.txt") or tail(raw_dir / "stdout.txt")
    message = f"the program broke off (exit status {client.exit_code}){quoted(said)}"
    return "broken", client.exit_code, message
