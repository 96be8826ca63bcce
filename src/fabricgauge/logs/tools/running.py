"""Run one start of a suite's program: store its raw output, return its lines, end its processes."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host, LaunchCommand
from fabricgauge.model.run import RANK_PREFIX, Ended
from fabricgauge.nodes import process
from fabricgauge.nodes.launch.environment import withheld_names
from fabricgauge.nodes.launch.launch import (
    LAUNCHER_AT_FAULT,
    ended_by_itself,
    quote_output,
    run_of,
    signal_name,
    tail,
    write_command,
)
from fabricgauge.nodes.process import MARKER, ChildGroup, ProgramStream, end_marked
from fabricgauge.store.files import writing
from fabricgauge.store.files.reading import read_text

READY_S = 45.0

#: Waits up to 1 s until a program listens on a port; arguments are the port as four hex digits and
#: as a decimal number. State 0A is TCP_LISTEN (linux/net/tcp_states.h). A program that waits only
#: for RDMA connections listens on no socket: `rdma` of iproute2 lists it.
_LISTENS = (
    "PATH=$PATH:/usr/sbin:/sbin; "
    "n=0; while [ $n -lt 10 ]; do for f in /proc/net/tcp /proc/net/tcp6; do "
    '[ -r $f ] && grep -q ":$1 [0-9A-F]*:0000 0A" $f && exit 0; done; '
    'rdma resource show cm_id 2>/dev/null | grep -q "state LISTEN .*:$2 " && exit 0; '
    "sleep 0.1; n=$((n+1)); done; exit 1"
)

#: Selects the GPU nearest to the adapter: the first GPU below their lowest common PCI bridge.
#: Numbers follow the bus, like NVIDIA's CUDA_DEVICE_ORDER=PCI_BUS_ID. A variable that is already
#: set does not change.
_NEAREST_GPU = (
    "v=$CUDA_VISIBLE_DEVICES$HIP_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES; "
    'k=; p=$(readlink -f "/sys/class/net/$i/device"); '
    'while p=${p%/*}; [ -n "$d" ] && [ -z "$v" ] && case $p in */pci*) ;; *) false ;; esac; do '
    "for k in nvidia amdgpu; do n=0; for f in /sys/bus/pci/drivers/$k/*:*; do "
    'case $(readlink -f "$f") in "$p"/*) v=$n; break 2 ;; esac; n=$((n+1)); done; done; done; '
    '[ -z "$d" ] || case $k-$v in nvidia-?*) export CUDA_DEVICE_ORDER=PCI_BUS_ID '
    'CUDA_VISIBLE_DEVICES="$v" ;; amdgpu-?*) export HIP_VISIBLE_DEVICES="$v" ;; esac'
)

#: Each rank, client or server runs this script first: it prints its placement in the launch that
#: measures, like the engine's ranks; then the program replaces it.
#: Its arguments: the rank if no MPI sets it, HOST=INTERFACE for each node, ``gpu`` to use only the
#: nearest GPU, ``--``, and the program with its arguments. All are data that no shell interprets.
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
    f"'{RANK_PREFIX}' "
    '"$r" "$$" "$b" "$n" "$c" "$p" "$u" "$i" "$h"; '
    'exec "$@"'
)


def with_placement(
    program: Sequence[str],
    interfaces: Mapping[str, str],
    rank: int = 0,
    *,
    nearest_gpu: bool = False,
) -> tuple[str, ...]:
    """Return the argv that prints its placement and then becomes ``program``.

    ``interfaces`` of the measured network, by host name, bind MPI's TCP, and NCCL with their RDMA
    devices. If empty, MPI chooses. ``rank`` is used if no MPI sets a rank. With ``nearest_gpu`` the
    program uses only the GPU nearest to its RDMA device, if one is below the same PCI bridge.
    """
    pairs = tuple(f"{host}={interface}" for host, interface in sorted(interfaces.items()))
    pairs += ("gpu",) if nearest_gpu else ()
    return ("/bin/sh", "-c", _SCRIPT, "fabricgauge-rank", str(rank), *pairs, "--", *program)


#: Ends a program when its input ends, that is with its ssh connection: without a terminal ssh sends
#: no signal, so that a server would wait for ever.
_END_WITH_INPUT = (
    'exec 3<&0; "$@" 3<&- </dev/null & p=$!; '
    '(while IFS= read -r line; do :; done; kill -9 "$p") <&3 >/dev/null 2>&1 & w=$!; '
    'exec 3<&-; wait "$p"; s=$?; kill "$w" 2>/dev/null; exit "$s"'
)


def server_command(host: Host, program: Sequence[str]) -> tuple[str, ...]:
    """Return the argv that runs ``program`` on a host while its input is open.

    Processes of launchers other than ssh end with the process that started them.
    """
    wrapper = ("/bin/sh", "-c", _END_WITH_INPUT, "fabricgauge-server") if host.remote_shell else ()
    return tuple(host.through((*wrapper, *program)))


class SuiteLaunch(msgspec.Struct, frozen=True):
    """The commands of one start; ``ready`` exits with 0 when the ``server`` accepts connections."""

    client: LaunchCommand
    server: LaunchCommand | None = None
    ready: tuple[str, ...] = ()


def await_listener(port: int) -> tuple[str, ...]:
    """Return the argv that waits on a node until a program listens on ``port``."""
    return ("/bin/sh", "-c", _LISTENS, "listens", f"{port:04X}", str(port))


def run_suite(
    launch: SuiteLaunch, raw_dir: Path, *, silent_s: float, marker: str,
    group: ChildGroup | None = None,
) -> tuple[Ended, tuple[str, ...]]:  # fmt: skip
    """Run a program to its end; return how it ended, and its lines.

    The first line is the server's placement, then follow standard output and standard error, to
    which NetPIPE writes its table.

    Stores the output in ``raw_dir`` (stdout.txt, stderr.txt, server.txt, server.err) when it
    arrives. Ends the program after ``silent_s`` without a line. At the end, also after an interrupt
    or through ``group``, ends all processes with ``marker``. An MPI's launcher that a signal ends
    before the program's first line is started once more.

    Raises:
        ToolMissing: the launcher does not exist.
        StoreError: the raw directory cannot be written.
    """
    start_s = time.monotonic()
    lines: tuple[str, ...] = ()
    repeated = ""
    with ExitStack() as cleanup:
        cleanup.callback(end_marked, marker)
        try:
            with writing.storing(raw_dir):
                client = _start_client(launch, raw_dir, silent_s, marker, group, cleanup)
                lines = tuple(client)
                if _launcher_ended(launch, client, lines):
                    repeated = f"the launcher was ended by {signal_name(-(client.exit_code or 0))}"
                    end_marked(marker)
                    client = _start_client(launch, raw_dir, silent_s, marker, group, cleanup)
                    lines = tuple(client)
                status, code, message = _outcome(client, raw_dir)
                if repeated and _launcher_ended(launch, client, lines):
                    message = f"{message}; {LAUNCHER_AT_FAULT}"
        except CannotRun as error:
            status, code, message = "broken", None, str(error)
    wall_s = time.monotonic() - start_s
    ended = Ended(status, code, message, launch.client.argv, wall_s, repeated=repeated)
    server_lines = _read_lines(raw_dir / "server.txt")
    return ended, (*server_lines[:1], *lines, *_read_lines(raw_dir / "stderr.txt"))


def _launcher_ended(launch: SuiteLaunch, client: ProgramStream, lines: Sequence[str]) -> bool:
    """Check whether a signal ended the launcher itself, before a rank's program wrote anything."""
    has_words = any(not line.startswith(RANK_PREFIX) for line in lines)
    by_signal = ended_by_itself(client.exit_code) and not client.silent
    return launch.server is None and by_signal and not has_words


def _start_client(
    launch: SuiteLaunch, raw_dir: Path, silent_s: float, marker: str, group: ChildGroup | None,
    cleanup: ExitStack,
) -> ProgramStream:  # fmt: skip
    """Start the client when its server listens; ``cleanup`` ends the server."""

    def stream(
        command: LaunchCommand, stdout: str, stderr: str, stdin: str | None = ""
    ) -> ProgramStream:
        return ProgramStream(
            command.argv, stdin=stdin, stdout=raw_dir / stdout, stderr=raw_dir / stderr,
            silent_s=silent_s, within=run_of(raw_dir), env={**command.env, MARKER: marker},
            without=withheld_names(os.environ), group=group,
        )  # fmt: skip

    if launch.server is None:
        write_command(raw_dir, {"client": launch.client})
    else:
        write_command(raw_dir, {"client": launch.client, "server": launch.server})
        server = stream(launch.server, "server.txt", "server.err", stdin=None)
        cleanup.callback(server.close)
        _await_server(launch, server, raw_dir)
    return stream(launch.client, "stdout.txt", "stderr.txt")


def _await_server(launch: SuiteLaunch, server: ProgramStream, raw_dir: Path) -> None:
    """Wait until the server listens; CannotRun, which quotes its output, if it does not.

    Before the server prints a line and after its end, another program may listen on its port.
    """
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and not server.over:
        runs = bool(_read_lines(raw_dir / "server.txt"))
        ready = process.run(launch.ready, timeout_s=READY_S).exit_code == 0
        if runs and ready and not server.over:
            return
    lines = (*tail(raw_dir / "server.err"), *tail(raw_dir / "server.txt"))
    output = [line for line in lines if not line.startswith(RANK_PREFIX)]
    raise CannotRun(f"the server did not begin to listen{quote_output(output)}")


def _read_lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(read_text(path, run_of(path)).splitlines())
    except OSError:
        return ()


def _outcome(client: ProgramStream, raw_dir: Path) -> tuple[str, int | None, str]:
    """Return the status, the exit status, and after a failure a sentence."""
    if client.silent:
        message = f"no output for {client.silent_s:g} s, so the program was ended"
        return "silent", client.exit_code, message
    if client.exit_code == 0:
        return "ok", 0, ""
    lines = tail(raw_dir / "stderr.txt") or tail(raw_dir / "stdout.txt")
    code = client.exit_code
    how = f"exit status {code}" if code is None or code > 0 else f"ended by {signal_name(-code)}"
    return "broken", code, f"the program failed ({how}){quote_output(lines)}"
