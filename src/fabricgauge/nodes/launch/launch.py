"""Run one launch of the engine: store its raw output, yield its lines, leave no process behind.

If it breaks, find the lost node or pair in the messages of launchers and MPIs about a rank or
connection. Sources: runs of MPICH 4.0 and 5.0 (Hydra prints it on standard output), Intel MPI
2021.18, Open MPI 4.1 (odls, btl_tcp_endpoint.c) and 5.0 (PRRTE's help-prun.txt), srun of Slurm
22.05.
"""

import math
import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import msgspec

from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.plan import Case
from fabricgauge.model.run import Ended
from fabricgauge.nodes.launch.environment import withheld_names
from fabricgauge.nodes.process import MARKER, ProgramStream, end_marked
from fabricgauge.store.files import writing
from fabricgauge.store.files.reading import read_end

#: The engine's exit statuses, docs/development/engine-output.md.
TIMEOUT_STATUS = 75
MEANING = {
    64: "the engine did not understand its options",
    65: "the engine did not understand its list of cases",
    69: "a node lacks a resource: an interface in the subnet, an RDMA port, verbs, or a GPU",
    70: "the engine has an internal error",
    71: "a node had no memory or no thread left for the engine",
    74: "the engine's records could not be written",
    TIMEOUT_STATUS: "a case exceeded its time budget and the launch was ended",
    76: "a call of MPI or of the transport failed",
    77: "the system does not permit it",
    124: "the launch exceeded its time limit and was ended",
    126: "the program that starts the ranks cannot be executed",
    127: "the program that starts the ranks was not found",
    255: "the launcher did not reach a node, or lost a process there",
}

#: The engine's last record. All results are safe when it arrives. The launcher then has
#: FAREWELL_S to end: MPI_Finalize of MPICH 4.0 over UCX sometimes never returns.
FOOTER = '{"record":"footer"'
FAREWELL_S = 5.0

#: Prefixes of our programs' lines on standard error. A rank writes such a line only if it gives up;
#: the launcher may then wait for the other ranks without end.
ENGINE_PREFIXES = ("fabricgauge-engine:", "fabricgauge-path:")
HOPELESS_S = 5.0

#: Signals by which somebody ends a launcher on purpose; it is not started again then.
ASKED_TO_END = frozenset({
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL,
})  # fmt: skip
#: The first start's words, if a launcher was started again.
FIRST_WORDS = "stderr-first.txt"

#: Number of quoted lines of standard error, and the size of its end that is searched.
QUOTED_LINES = 4
TAIL_BYTES = 16384


def case_lines(cases: Sequence[Case]) -> str:
    """Return the engine's standard input, one line per case (docs/development/engine-output.md).

    The last line marks the end: Open MPI 5 does not forward the end of input.
    """
    return "".join(f"{' '.join(_words(case))}\n" for case in cases) + "end\n"


def _words(case: Case) -> Iterator[str]:
    yield case.name
    yield f"pattern={case.pattern} bytes={case.message_bytes} window={case.window}"
    yield f"origin={case.origin} target={case.target} budget_s={case.budget_s:g}"
    for key in ("ranks", "pairs", "concurrent", "load", "epoch", "threads", "buffers"):
        value = getattr(case, key)
        if value != getattr(_DEFAULTS, key):
            yield f"{key}={value}"
    if case.rounds:
        yield f"rounds={ranges(case.rounds)}"


#: The engine's defaults: a line leaves keys with these values out.
_DEFAULTS = Case("", "latency", 0, 1, 0, 1, 1.0)


def ranges(ascending: Sequence[int]) -> str:
    """Return ascending whole numbers in the engine's syntax, e.g. ``0-3,8``."""
    # In consecutive numbers the difference between a number and its index is constant.
    groups = groupby(enumerate(ascending), lambda item: item[1] - item[0])
    runs = ([number for _, number in group] for _, group in groups)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


class Running:
    """A running ``command`` with ``cases_text`` on its standard input.

    Iteration yields the raw lines, each already stored. When the loop ends, also by an interrupt,
    the launcher and all local processes with the launch's marker have been ended.

    ``raw_dir`` gets command.json and stdin.txt before the start, stdout.jsonl and stderr.txt while
    they grow. The launch is ended after ``silent_s`` without a line on standard output, or after
    ``started_silent_s`` once a record has arrived. During silence, ``is_hopeless(seconds)`` is
    called from time to time; true ends the launch. ``marker`` is unique to this launch and finds
    its processes.

    A launcher that a signal ends before a rank writes anything is started once more: such an end
    shows nothing of the network or the program. Its messages stay in stderr-first.txt, and
    ``Ended.repeated`` has the reason.

    Raises:
        ToolMissing: the launcher does not exist or is not executable.
        StoreError: the raw directory cannot be written.
    """

    def __init__(
        self,
        command: LaunchCommand,
        cases_text: str,
        raw_dir: Path,
        *,
        silent_s: float,
        marker: str,
        started_silent_s: float = math.inf,
        is_hopeless: Callable[[float], bool] = lambda _silent_s: False,
    ) -> None:
        self._argv, self._marker, self._stderr = command.argv, marker, raw_dir / "stderr.txt"
        self._started_silent_s = started_silent_s
        self._complete, self._wall_s = False, 0.0
        self._has_record, self._first_end = False, ""
        env = {**command.env, MARKER: marker}

        def start() -> ProgramStream:
            with writing.storing(raw_dir):
                return ProgramStream(
                    command.argv, stdin=cases_text, stdout=raw_dir / "stdout.jsonl",
                    stderr=self._stderr, silent_s=silent_s, within=run_of(raw_dir), env=env,
                    without=withheld_names(os.environ),
                    hopeless=lambda quiet_s: (
                        engine_gave_up(tail(self._stderr)) or is_hopeless(quiet_s)
                    ),
                    hopeless_s=HOPELESS_S,
                )  # fmt: skip

        with writing.storing(raw_dir):
            run = run_of(raw_dir)
            writing.make_folder(raw_dir, run)
            write_command(raw_dir, LaunchCommand(command.argv, env))
            writing.write_whole(raw_dir / "stdin.txt", cases_text.encode(), run)
        self._start = start
        self._stream = start()
        self._started = time.monotonic()

    def __iter__(self) -> Iterator[str]:
        try:
            yield from self._lines()
            if self._launcher_ended():
                self._start_again()
                yield from self._lines()
        finally:
            self.close()

    def _lines(self) -> Iterator[str]:
        for line in self._stream:
            if line.startswith("{"):
                self._has_record = True
                self._stream.silent_s = min(self._started_silent_s, self._stream.silent_s)
            if line.startswith(FOOTER):
                self._complete = True
                self._stream.silent_s = min(FAREWELL_S, self._stream.silent_s)
            yield line

    def _launcher_ended(self) -> bool:
        """Check whether a signal ended the launcher itself, before it passed on a rank's word."""
        if self._has_record or self._stream.silent:
            return False
        return ended_by_itself(self._stream.exit_code) and not engine_gave_up(tail(self._stderr))

    def _start_again(self) -> None:
        self._first_end = _meaning(self._stream.exit_code)
        end_marked(self._marker)
        with suppress(OSError):
            run = run_of(self._stderr)
            words = read_end(self._stderr, TAIL_BYTES, run)
            writing.write_whole(self._stderr.with_name(FIRST_WORDS), words, run)
        self._stream = self._start()

    def close(self) -> None:
        """End the processes that still run; may be called several times."""
        self._stream.close()
        end_marked(self._marker)
        self._wall_s = self._wall_s or time.monotonic() - self._started

    def ended(self) -> Ended:
        """Return how the launch ended; call it after the loop."""
        self.close()
        stream, lines = self._stream, tail(self._stderr)
        status, message = outcome(
            stream.exit_code, lines, silent_s=stream.silent_s if stream.silent else None,
            complete=self._complete,
        )  # fmt: skip
        if self._first_end and self._launcher_ended():
            message = f"{message}; {LAUNCHER_AT_FAULT}"
        return Ended(
            status, stream.exit_code, message, self._argv, self._wall_s, repeated=self._first_end
        )


#: The end of a message about a launcher that ended in the same way when it was started again.
LAUNCHER_AT_FAULT = (
    "it was started twice and ended so both times, before a rank wrote anything: the launcher"
    " ended, which shows no fault of the network or of the measuring program"
)


def ended_by_itself(exit_code: int | None) -> bool:
    """Check whether a signal ended a program that nobody ended on purpose."""
    return exit_code is not None and exit_code < 0 and -exit_code not in ASKED_TO_END


def write_command(raw_dir: Path, command: object) -> None:
    """Write the started command, or commands, as command.json."""
    text = msgspec.json.format(msgspec.json.encode(command), indent=2)
    writing.write_whole(raw_dir / "command.json", text + b"\n", run_of(raw_dir))


def run_of(path: Path) -> Path:
    """Return the run directory of a file or folder below ``raw``; no link leads out of it."""
    return next((folder.parent for folder in path.parents if folder.name == "raw"), path.parent)


#: A place in the sources of Hydra or MPICH, printed after the reason of a failure.
_SOURCE_LINE = re.compile(r"\(\S+\.c:\d+\): ")

#: Hydra's message about a host without an IPv4 address, the only kind that it looks up
#: (mpl_sockaddr.c and hydra's sock.c, MPICH 4.0.2 and 5.0.2).
_NO_IPV4 = re.compile(r"unable to get host address for (\S{1,253})")

#: Output of MPIs that we requested ourselves: see ``verbose_variables`` of the MPIs.
_CHATTER = re.compile(
    r" UCX  (?:INFO|DIAG) | mca: (?:base|bml): | select: init| btl: ?tcp: |MPI startup\(\): "
    r"|^\[\d+\.\d+\] \[[^\]]*\] +[|+]"
)


def tail(path: Path, within: Path | None = None) -> tuple[str, ...]:
    """Return the informative lines at a file's end: the engine's lines first, then the last others.

    MPI's launchers print much after the engine's reason. Leaves out rulers, empty lines and
    repetitions, and lines about source files if there are others.
    """
    try:
        lines = (
            read_end(path, TAIL_BYTES, within or run_of(path)).decode(errors="replace").split("\n")
        )
    except OSError as error:
        return (f"{path.name} cannot be read: {error.strerror}",)
    informative = [
        line.strip()[:300]
        for line in lines
        if any(sign.isalnum() for sign in line) and not _CHATTER.search(line[:300])
    ]
    engine_lines = [line for line in dict.fromkeys(informative) if line.startswith(ENGINE_PREFIXES)]
    mpi_lines = [line for line in informative if not line.startswith(ENGINE_PREFIXES)]
    reasons = [line for line in mpi_lines if _NO_IPV4.search(line)][:1]
    mpi_lines = [line for line in mpi_lines if not _SOURCE_LINE.search(line)] or mpi_lines
    room = max(0, QUOTED_LINES - len(engine_lines) - len(reasons))
    last_lines = mpi_lines[max(0, len(mpi_lines) - room) :]
    return (*engine_lines[:QUOTED_LINES], *reasons, *last_lines)


def printed(raw_dir: Path) -> str:
    """Return the end of the output of launcher and MPI, without the engine's records."""
    texts = []
    for name in ("stdout.jsonl", "stderr.txt"):
        try:
            end = read_end(raw_dir / name, TAIL_BYTES, run_of(raw_dir))
            lines = end.decode(errors="replace").splitlines()
        except OSError:
            continue
        texts += [line for line in lines if not line.startswith("{")]
    return "\n".join(texts)


#: Messages about a program or library that a node lacks: env(1) of GNU and busybox, ld.so of glibc
#: and musl, execve(2) by MPI's launchers.
_CANNOT_START = re.compile(
    r"/fabricgauge-(?:engine|path)\S*: .*(?:No such file or directory|Permission denied|"
    r"error while loading shared libraries|Exec format error|cannot execute|not found)|"
    r"execvp error on file \S*/fabricgauge-|Error loading shared library|Error relocating"
)


def engine_gave_up(lines: Sequence[str]) -> bool:
    """Check whether a rank of the engine reports why it gave up, or could not be started."""
    return any(line.startswith(ENGINE_PREFIXES) or _CANNOT_START.search(line) for line in lines)


def outcome(
    exit_code: int | None, lines: Sequence[str], *, silent_s: float | None, complete: bool
) -> tuple[str, str]:
    """Return the status (``ok``, ``timeout``, ``silent``, ``broken``) and a sentence for a user.

    ``silent_s`` is the silence after which the launch was ended; None if it ended otherwise. A
    ``complete`` launch has written its last record, so it is ``ok``; the sentence describes how its
    processes ended.
    """
    output = quote_output(lines)
    if match := next(filter(None, map(_NO_IPV4.search, lines)), None):
        output = (
            f"; this MPI's launcher connects only to IPv4 addresses, but {match[1]} has none: give"
            " the hosts IPv4 addresses, start the ranks with Slurm (--launcher srun), or measure"
            " without MPI (--tool iperf3)"
        )
    if silent_s is None and exit_code == 0:
        return "ok", ""
    if complete:
        end = "did not end" if silent_s is not None else f"failed: {_meaning(exit_code)}"
        return "ok", f"all cases were recorded, but MPI's shutdown {end}{output}"
    if silent_s is not None and engine_gave_up(lines):
        return "broken", f"the engine gave up, but its launcher did not end{output}"
    if silent_s is not None:
        reason = f"no output for {silent_s:g} s, so the launch was ended"
        return "silent", f"{reason}; a node or a link may be dead{output}"
    status = "timeout" if exit_code == TIMEOUT_STATUS else "broken"
    return status, f"{_meaning(exit_code)}{output}"


def quote_output(lines: Sequence[str]) -> str:
    """Return the end of a sentence that quotes a program's last output.

    Recorded runs contain this form, and readers of their messages split at it.
    """
    return f"; it said: {' | '.join(lines)}" if lines else "; it said nothing"


def _meaning(exit_code: int | None) -> str:
    if exit_code is None:
        return "the launch ended without an exit status"
    if exit_code < 0:
        return f"the launcher was ended by {signal_name(-exit_code)}"
    meaning = MEANING.get(exit_code, "the launch failed")
    return f"{meaning} (exit status {exit_code})"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


#: Signals that a rank does not send to itself: SIGBUS, SIGKILL and SIGSEGV. A rank that exits or
#: ends by another signal may have lost its partner.
_SIGNALS = {"7": "SIGBUS", "9": "SIGKILL", "11": "SIGSEGV"}
_SIGNAL = r"(?P<signal>7|9|11)\b"

_LOSS_MESSAGES = (
    re.compile(
        rf"PID \d+ RUNNING AT (?P<node>\S+)\s+=\s+(?:EXIT CODE|KILLED BY SIGNAL): {_SIGNAL}"
    ),
    re.compile(rf"on node (?P<node>\S+) exited\s+on\s+signal {_SIGNAL}"),
    re.compile(
        r"srun: error: (?P<node>[\w.-]+): task \d+: (?P<reason>Killed|Bus error|Segm\w+ fault)"
    ),
    re.compile(r"srun: error: Node failure on (?P<node>[\w.-]+)"),
    re.compile(r"from (?P<node>\S+) to: (?P<peer>\S+) Unable to connect to the peer"),
)


#: Message of UCX 1.1x about a rank that loses a partner; the host is the rank's. MPICH may then end
#: by SIGSEGV, and Hydra names that rank if it notices it first.
_RESET = re.compile(
    r"^\[\d+\.\d+\] \[(?P<node>[^:\]]+):\d+:\d+\].*Connection reset by remote peer", re.MULTILINE
)


class LostRank(msgspec.Struct, frozen=True):
    """One node, or two nodes that form a pair; ``event`` is in words, ``line`` the launcher's."""

    nodes: tuple[str, ...]
    event: str
    line: str


def find_lost_rank(text: str, nodes: Collection[str]) -> LostRank | None:
    """Return the first loss in the output of a launch that concerns one of its ``nodes``.

    A rank that lost a partner and then crashed is not the cause. A rank that all its partners lost
    is the cause.
    """
    resets = {
        node: match[0] for match in _RESET.finditer(text) for node in _named_nodes(match, nodes)
    }
    matches = [
        match
        for pattern in _LOSS_MESSAGES
        for match in pattern.finditer(text)
        if match.groupdict().get("signal") != "11"
        or resets.keys().isdisjoint(_named_nodes(match, nodes))
    ]
    for match in sorted(matches, key=re.Match.start):
        names = tuple(_named_nodes(match, nodes))
        if names:
            return LostRank(names, _describe_event(match), " ".join(match[0].split()))
    without_reset = [node for node in dict.fromkeys(nodes) if node not in resets]
    if resets and len(without_reset) == 1:
        event = "its rank is gone: all other ranks lost their connections to it"
        return LostRank((without_reset[0],), event, next(iter(resets.values())))
    return None


def _named_nodes(match: "re.Match[str]", nodes: Collection[str]) -> Iterator[str]:
    """Return the nodes in a message; full host names and their first parts are equal."""
    groups = match.groupdict()
    for name in (groups["node"], groups.get("peer")):
        short = (name or "").partition(".")[0]
        yield from [node for node in nodes if node == name or node.partition(".")[0] == short][:1]


def _describe_event(match: "re.Match[str]") -> str:
    groups = match.groupdict()
    if "peer" in groups:
        return "MPI could not connect them"
    if signal := groups.get("signal"):
        return f"its rank was ended by {_SIGNALS[signal]}"
    if reason := groups.get("reason"):
        return f"its rank was ended: {reason}"
    return "Slurm reports that the node failed"
