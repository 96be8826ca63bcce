"""Recognise messages of MPIs, their libraries and the suites beside a table.

One row each. The place of a line decides which table it counts for: see
``Messages``.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from fabricgauge.logs.readers.lines import remembered
from fabricgauge.model.suite import LogMessage, MessageKind, SuiteCurve

#: Messages of one start that are kept, and how much of each.
MOST_MESSAGES, LONGEST_TEXT = 64, 240

#: Suites whose program prints many tables: a message at its start holds for all of them.
_MANY_TABLES = ("imb", "hpcc", "gpcnet")


class _Row(NamedTuple):
    """``sign`` stands in each line that ``form`` matches; if the form is empty, it is enough."""

    kind: MessageKind
    sign: str
    form: str = ""


#: Transports of a node's own memory, and TCP, in UCX's and Open MPI's names.
_MEMORY_OR_TCP = r"(?:tcp|self|sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|cuda\w*|gdr_copy|rocm\w*)"
#: A list of them with TCP, and nothing else, behind a variable or an option. No comment.
_ONLY_TCP = rf"['\"]?(?=[\w,]*\btcp\b)(?:{_MEMORY_OR_TCP}(?:,|(?![\w,])))+(?![\w,:^])"
#: The same without TCP; CUDA's memory handles may reach another node over NVLink.
_ONLY_MEMORY = (
    r"['\"]?(?=[\w,]*\b(?:sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|smcuda)\b)"
    r"(?:(?:self|sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|smcuda|cuda_copy|gdr_copy|rocm_copy)"
    r"(?:,|(?![\w,])))+(?![\w,:^])"
)
_PROVIDER = r"\b(?:FI_PROVIDER|I_MPI_OFI_PROVIDER|MPIR_CVAR_OFI_USE_PROVIDER)[ =]['\"]?"
_OB1 = r"(?=.*(?<![a-z])pml[ =]+ob1\b).*(?<![a-z])btl[ =]+"
_NO_COMMENT = r"^(?!\s*#)"
_CONNECTION = r"(?:ep_)?cfg(?:\[|#)\d+\]?:? "

#: ``tcp``: TCP carried the messages. ``fallback``: a fast transport could not be used, so another
#: one may have been. ``asked``: a command or variable leaves TCP alone to choose from, ``memory``:
#: shared memory alone. ``local``: ranks of one node were connected; ``remote``: ranks of two.
#: ``broken``: the run broke. ``clock``: the host's clock is doubtful. The first row that fits
#: a line counts. Above each row is where it was read.
ROWS: tuple[_Row, ...] = (
    # UCX 1.14-1.20, ucp_worker.c, and tables of UCX_PROTO_INFO
    _Row("local", "intra-node cfg#", r"\bintra-node cfg#\d"),
    # UCX 1.11-1.19, ucp_worker.c: another rank of the node
    _Row(
        "local",
        "tag(",
        _CONNECTION + r".*?tag\((?!self/)"
        r"(?:(?:sysv|posix|cma|xpmem|knem|cuda_ipc|cuda_copy|gdr_copy)/[^) ]+ ?)+\)",
    ),
    _Row("remote", "tag(", _CONNECTION + r".*?tag\([^)]*\b(?:rc|dc|ud)_\w+/"),
    # UCX 1.10-1.19, ucp_context.c
    _Row(
        "tcp",
        "not available, please use one or more of",
        r"network devices? .* not available, please use one or more of: "
        r"(?!.*\((?:ib|gga|srd)\)).*\(tcp\)",
    ),
    # UCX 1.11-1.19, ucp_worker.c
    _Row(
        "tcp",
        "tag(",
        _CONNECTION + r".*?tag\("
        r"(?![^)]*\b(?:self/|(?:rc|dc|ud)_|sysv|posix|cma/|xpmem))[^)]*\btcp/",
    ),
    # UCX 1.11-1.20, ucp_worker.c, of ucx_perftest's active messages
    _Row("tcp", " am(", _CONNECTION + r"am\(tcp/[^) ]*\)"),
    # UCX 1.14-1.20, ucp_worker.c, and tables of UCX_PROTO_INFO
    _Row("remote", "inter-node cfg#", r"\binter-node cfg#\d"),
    # Open MPI 1.8-5.0, bml_r2.c
    _Row("local", "btl for send to", r"mca: bml: Using (?:vader|sm|smcuda) btl for send to"),
    _Row(
        "remote",
        "btl for send to",
        r"mca: bml: Using (?:openib|ofi|uct|usnic|portals4|ugni) btl for send to",
    ),
    _Row("tcp", "mca: bml: Using tcp btl for send to"),
    # Open MPI 1.8-5.0, btl_tcp_endpoint.c
    _Row("tcp", "btl: tcp: attempting to connect"),
    # Intel MPI 2019-2021 with I_MPI_DEBUG; MPICH 4 with MPIR_CVAR_DEBUG_SUMMARY
    _Row("tcp", "libfabric provider:", r"libfabric provider: (?:tcp|sockets|net)\b"),
    # Intel MPI 4.0-2018 with I_MPI_DEBUG
    _Row(
        "tcp", "tcp data transfer mode", r"MPI startup\(\): (?:shm and )?tcp data transfer modes?"
    ),
    # Open MPI 1.3-4.1, help-mpi-btl-openib-cpc-base.txt
    _Row("fallback", "No OpenFabrics connection schemes reported"),
    # Open MPI 1.3-4.1, help-mpi-btl-openib.txt
    _Row("fallback", "There was an error initializing an OpenFabrics device"),
    _Row("fallback", "no active ports", r"there are no active ports\b"),
    _Row("fallback", "The openib BTL will be ignored for this"),
    _Row("fallback", "allocate some locked memory"),
    # Open MPI 4.0-4.1, help-mpi-btl-openib.txt
    _Row("fallback", "By default, for Open MPI 4.0 and later, infiniband ports on a device"),
    # Open MPI 1.3-4.1, help-mpi-btl-base.txt
    _Row("fallback", "was unable to find any relevant network interfaces"),
    # Open MPI 1.3-5.0, help-mpi-btl-base.txt
    _Row("fallback", "Another transport will be used instead"),
    # Intel MPI 4.0-2018
    _Row(
        "fallback",
        "fabric is not available",
        r"MPI startup\(\): (?:dapl|ofa|tmi|ofi) fabric is not available",
    ),
    # UCX 1.6-1.19, ucp_context.c
    _Row("fallback", "no usable transports/devices", r"UCX +ERROR .*no usable transports/devices"),
    # PSM2 11.2, psm_ep.c; Open MPI 2.0-4.1, help-mtl-psm2.txt
    _Row(
        "fallback",
        "PSM",
        r"PSM[23]? (?:no (?:hfi|nic) units are available|can't open (?:hfi|nic) unit"
        r"|was unable to open an endpoint)",
    ),
    _Row("fallback", "hfi_userinit: assign_context command failed"),
    # UCX 1.6-1.20, docs/source/faq.md; UCX prints it with UCX_LOG_LEVEL=info
    _Row("asked", "UCX_TLS", rf"{_NO_COMMENT}.*\bUCX_TLS[ =]{_ONLY_TCP}"),
    # UCX 1.6-1.20, docs/source/faq.md: a device of RDMA has a port (mlx5_0:1)
    _Row(
        "asked",
        "UCX_NET_DEVICES",
        rf"{_NO_COMMENT}.*\bUCX_NET_DEVICES[ =]['\"]?"
        r"(?:(?:ib|en|eth|em|bond|hsn|opa)[\w.]*(?:,|(?![\w.,:])))+(?![\w.,:])",
    ),
    # Open MPI 1.8-5.0, mpirun(1): --mca pml ob1 --mca btl tcp,self
    _Row(
        "asked",
        "ob1",
        rf"{_NO_COMMENT}{_OB1}{_ONLY_TCP}",
    ),
    _Row("memory", "ob1", rf"{_NO_COMMENT}{_OB1}{_ONLY_MEMORY}"),
    _Row("memory", "UCX_TLS", rf"{_NO_COMMENT}.*\bUCX_TLS[ =]{_ONLY_MEMORY}"),
    # Intel MPI 4.0-2018, Developer Reference
    _Row("asked", "I_MPI_FABRICS", rf"{_NO_COMMENT}.*\bI_MPI_FABRICS[ =](?:shm:)?tcp\b"),
    # Intel MPI 4.0-2021, Developer Reference
    _Row("memory", "I_MPI_FABRICS", rf"{_NO_COMMENT}.*\bI_MPI_FABRICS[ =]['\"]?shm(?![\w:,])"),
    # libfabric 1.6-2.1, fi_provider(7); Intel MPI 2019-2021; MPICH 4
    _Row(
        "asked",
        "_PROVIDER",
        rf"{_NO_COMMENT}.*{_PROVIDER}(?:tcp|sockets)\b",
    ),
    # libfabric 1.6-2.1, fi_shm(7)
    _Row("memory", "_PROVIDER", rf"{_NO_COMMENT}.*{_PROVIDER}(?:shm|sm2)(?![\w:;,])"),
    # UCX 1.6-1.19, ib_mlx5_log.c
    _Row(
        "broken", "retry count exceeded", r"(?:Transport|Receive-no-ready) retry count exceeded on"
    ),
    _Row(
        "broken", " error on mlx", r"(?:Local|Remote) [\w ]{1,40} error on mlx\w+:\d+/(?:IB|RoCE)"
    ),
    # Open MPI 1.3-4.1, help-mpi-btl-openib.txt
    _Row("broken", "The InfiniBand retry count between two MPI processes"),
    # Open MPI 1.3-4.1, btl_openib_component.c
    _Row("broken", " CQ with status", r"error polling [HL]P CQ with status"),
    # perftest 4-25, perftest_resources.h
    _Row("broken", "Completion with error at", r"Completion with error at (?:client|server)"),
    # UCX 1.6-1.19, ucp_worker.c
    _Row(
        "broken",
        "UCX  ERROR",
        r"UCX  ERROR .*(?:Endpoint timeout|Connection reset by remote peer"
        r"|Destination is unreachable)",
    ),
    # NCCL 2.4-2.28, transport/net_ib.cc
    _Row(
        "broken",
        "Got completion",
        r"NCCL WARN NET/IB\w* ?: ?.{0,60}Got completion (?:from peer .{1,100} )?"
        r"with (?:error|status)",
    ),
    # NCCL 2.23-2.28, transport/net_ib.cc
    _Row("broken", "async fatal event", r"NCCL WARN NET/IB ?: \S{1,64} async fatal event"),
    # UCX 1.6-1.20, ucs/debug/debug.c
    _Row("broken", "Caught signal", r"\bCaught signal \d+ \("),
    # Linux 4.18-6.12, mellanox/mlx5/core/en_main.c; mlx4/en_port.c
    _Row("broken", "Link down", r"\bmlx[45]_core \S+ \S+: Link down$"),
    # Hydra of MPICH 3-5 and Intel MPI, pmiserv_cb.c
    _Row("broken", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
    # Open MPI 1.3-5.0, help-prun.txt
    _Row(
        "broken", "noticed that process rank", r"noticed that process rank \d+ .*exited on signal"
    ),
    # Slurm 17-24, slurmd/slurmstepd/req.c
    _Row(
        "broken",
        "slurmstepd: error: ***",
        r"slurmstepd: error: \*\*\* (?:STEP|JOB) \S+ .*CANCELLED",
    ),
    # Slurm 17-24, srun's step_launch.c and launch.c
    _Row(
        "broken", "srun: error: ", r"srun: error: (?:Node failure on \S|\S+: tasks? [\d,\[\]-]+: )"
    ),
    # Open MPI 1.3-5.0, help-errmgr-base.txt, help-prted.txt
    _Row("broken", "PRTE has lost communication with a remote daemon"),
    _Row("broken", "ORTE has lost communication with a remote daemon"),
    # Open MPI 1.3-5.0, errhandler_predefined.c, help-mpi-api.txt
    _Row("broken", "*** ", r"\*\*\* (?:An error occurred in MPI_\w|MPI_ERRORS_ARE_FATAL \()"),
    _Row("broken", "MPI_ABORT was invoked on rank "),
    # MPICH 3-5, Intel MPI, MVAPICH and Cray MPICH, errutil.c, assert.c
    _Row("broken", " in comm ", r"\bAbort\(-?\d+\) (?:on node \d+ )?\(rank \d+ in comm \d+\): "),
    _Row("broken", "Fatal error in ", r"\bFatal error in (?:P?MPI|internal)_\w+: "),
    _Row("broken", "Assertion failed in file ", r"Assertion failed in file \S+ at line \d+"),
    _Row("broken", "application called MPI_Abort("),
    # perftest 4-25, get_clock.c
    _Row("clock", "Conflicting CPU frequency values detected"),
)

_FORMS = tuple((row.sign, row.kind, re.compile(row.form)) for row in ROWS)


@remembered
def kind_of_message(text: str) -> MessageKind | None:
    """Return the kind of message in a line; None for any other line."""
    # A loop over 40 searches for a text is ten times as fast as one for any of them.
    for sign, kind, form in _FORMS:
        if sign in text and form.search(text):
            return kind
    return None


#: A shell's setting of a variable for all programs behind it.
_SETTING = re.compile(r"[\s+$#>]*(?:export|declare -x|setenv|unset|unsetenv) +(?P<name>[A-Z]\w*)")


def variable_in(text: str) -> str:
    """Return the variable that a line sets for all programs behind it, or unsets; else empty."""
    match = _SETTING.match(text) if "export " in text or "set" in text else None
    return match["name"] if match and not text.startswith("#") else ""


class Messages:
    """The messages of a file's stream, until a table takes them.

    One that the program writes as it starts stands before its table, or among its rows. An error
    stands among the rows or behind them.
    """

    def __init__(self) -> None:
        self._waiting: list[LogMessage] = []
        self._of_start: list[LogMessage] = []
        self._last: Sequence[SuiteCurve] = ()
        #: Settings of a shell, each with its variable and the line that sets this again.
        self._settings: list[tuple[LogMessage, str, float]] = []

    def copy(self) -> "Messages":
        """Return the messages that wait, and the settings, for a rank's own lines."""
        copy = Messages()
        copy._waiting = [message for message in self._waiting if message.kind != "broken"]
        copy._settings = [*self._settings]
        return copy

    def take(self, number: int, text: str) -> bool:
        """Check whether a line is a message; if so, it is kept."""
        kind, variable = kind_of_message(text), variable_in(text)
        self._settings = [
            (message, name, min(end, number) if name in text else end)
            for message, name, end in self._settings
        ]
        if kind is None:
            return False
        if variable and len(self._settings) < MOST_MESSAGES:
            message = LogMessage(kind, number, text.strip()[:LONGEST_TEXT])
            self._settings.append((message, variable, math.inf))
        elif len(self._waiting) < MOST_MESSAGES:
            self._waiting.append(LogMessage(kind, number, text.strip()[:LONGEST_TEXT]))
        return True

    def add_to(self, curves: Sequence[SuiteCurve], over: bool = False) -> None:
        """Give a finished table its messages; those behind it wait for the next table.

        If ``over``, the file has ended and no message waits any longer.
        """
        if not curves:
            return
        first = min(curve.first_line for curve in curves)
        last = max(curve.last_line for curve in curves)
        self._add_behind(first)
        self._last = curves
        due = [
            message
            for message in self._waiting
            if over or message.kind == "broken" or message.line <= last
        ]
        settings = [message for message, _, end in self._settings if message.line <= last < end]
        if not (due or settings or self._of_start):
            return
        self._waiting = [message for message in self._waiting if message not in due]
        of_start = [message for message in due if message.kind != "broken"]
        if curves[0].suite in _MANY_TABLES:
            self._of_start += of_start
            of_start = self._of_start
        else:
            self._of_start = []
        broken = [message for message in due if message.kind == "broken"]
        _add_messages(
            curves,
            (*settings, *of_start, *(message for message in broken if message.line >= first)),
        )

    def end(self) -> None:
        """Give the errors behind the last table to that table."""
        self._add_behind(None)

    def _add_behind(self, first_line: int | None) -> None:
        """Give the errors in front of the next table, which begins there, to the table before."""
        behind = [
            message
            for message in self._waiting
            if message.kind == "broken" and (first_line is None or message.line < first_line)
        ]
        if behind and self._last:
            self._waiting = [message for message in self._waiting if message not in behind]
            _add_messages(self._last, behind)


def _add_messages(curves: Sequence[SuiteCurve], messages: Sequence[LogMessage]) -> None:
    for curve in curves:
        all_messages = (*curve.evidence.messages, *messages)
        evidence = msgspec.structs.replace(curve.evidence, messages=all_messages)
        msgspec.structs.force_setattr(curve, "evidence", evidence)
