"""One launch of the engine: raw files first, then each line to the reader, no orphans."""

import math
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from fabricgauge.files import writing
from fabricgauge.files.reading import read_end
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.plan import Case
from fabricgauge.model.run import Ended
from fabricgauge.process import MARKER, ProgramStream, end_marked
from fabricgauge.run.environment import kept_back

#: The engine's exit statuses, docs/development/engine-output.md.
TIMEOUT_STATUS = 75
MEANING = {
    64: "the engine did not understand its options",
    65: "the engine did not understand its list of cases",
    69: "a node lacks what was to be used: an interface in the subnet, an RDMA port, verbs, a GPU",
    70: "the engine met a fault of its own",
    71: "a node had no memory or no thread left for the engine",
    74: "the engine's records could not be written",
    TIMEOUT_STATUS: "a case went past its time budget and the launch was given up",
    76: "a call of MPI, or of the transport beside it, failed",
    77: "the system does not permit it",
    124: "the launch went past its limit of time and was ended",
    126: "the program that starts the ranks may not be executed",
    127: "the program that starts the ranks was not found",
    255: "the launcher did not reach a node, or lost a process there",
}

#: The engine's last record. All results are safe once it is there, and the launcher has
#: this long to end: MPI_Finalize of MPICH 4.0 over UCX now and then never returns.
FOOTER = '{"record":"footer"'
FAREWELL_S = 5.0

#: How our own programs' lines on standard error begin. They write one only when they give
#: up, and where one rank did so the launcher may wait for the others without end.
ENGINE_SAYS = ("fabricgauge-engine:", "fabricgauge-path:")
HOPELESS_S = 5.0

#: Lines of standard error to quote, and how much of its end to look at.
QUOTED_LINES = 4
TAIL_BYTES = 16384


def case_lines(cases: Sequence[Case]) -> str:
    """The engine's standard input: one line per case (docs/development/engine-output.md).

    The last line says that it is the last: Open MPI 5 does not pass the end of input on.
    """
    return "".join(f"{' '.join(_words(case))}\n" for case in cases) + "end\n"


def _words(case: Case) -> Iterator[str]:
    yield case.name
    yield f"pattern={case.pattern} bytes={case.message_bytes} window={case.window}"
    yield f"origin={case.origin} target={case.target} budget_s={case.budget_s:g}"
    for key in ("ranks", "pairs", "concurrent", "load", "epoch", "threads"):
        said = getattr(case, key)
        if said != getattr(_PLAIN, key):
            yield f"{key}={said}"
    if case.rounds:
        yield f"rounds={ranges(case.rounds)}"


#: The optional keys of a line are left out where they say what the engine takes anyway.
_PLAIN = Case("", "latency", 0, 1, 0, 1, 1.0)


def ranges(ascending: Sequence[int]) -> str:
    """Ascending whole numbers as the engine reads them: ``0-3,8``."""
    # What a number exceeds its place by is the same along an unbroken run.
    runs = groupby(enumerate(ascending), lambda placed: placed[1] - placed[0])
    ends = ([number for _, number in run] for _, run in runs)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ends)


class Running:
    """``command`` started with ``cases_text`` on its standard input.

    Iterating yields its raw lines, each already kept. However the loop ends, also by an interrupt,
    the launcher and every local process that carries the launch's marker are ended before it is
    left.

    ``raw_dir`` gets command.json and stdin.txt before the start, stdout.jsonl and stderr.txt
    as they grow. After ``silent_s`` without a line on standard output the launch is
    ended, once a record has come after ``started_silent_s``. In silence ``look(seconds)`` is asked
    now and then whether there is no hope. ``marker``, unique to this launch, finds its processes
    again.

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
        look: Callable[[float], bool] = lambda _silent_s: False,
    ) -> None:
        self._argv, self._marker, self._stderr = command.argv, marker, raw_dir / "stderr.txt"
        self._started_silent_s = started_silent_s
        self._complete, self._wall_s = False, 0.0
        env = {**command.env, MARKER: marker}
        with writing.storing(raw_dir):
            run = run_of(raw_dir)
            writing.make_folder(raw_dir, run)
            keep_described(raw_dir, LaunchCommand(command.argv, env))
            writing.write_whole(raw_dir / "stdin.txt", cases_text.encode(), run)
            self._stream = ProgramStream(
                command.argv, stdin=cases_text, stdout=raw_dir / "stdout.jsonl",
                stderr=self._stderr, silent_s=silent_s, within=run, env=env,
                without=kept_back(os.environ),
                hopeless=lambda quiet_s: engine_gave_up(tail(self._stderr)) or look(quiet_s),
                hopeless_s=HOPELESS_S,
            )  # fmt: skip
        self._started = time.monotonic()

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._stream:
                if line.startswith("{"):
                    self._stream.silent_s = min(self._started_silent_s, self._stream.silent_s)
                if line.startswith(FOOTER):
                    self._complete = True
                    self._stream.silent_s = min(FAREWELL_S, self._stream.silent_s)
                yield line
        finally:
            self.close()

    def close(self) -> None:
        """End what still runs; may be called again."""
        self._stream.close()
        end_marked(self._marker)
        self._wall_s = self._wall_s or time.monotonic() - self._started

    def ended(self) -> Ended:
        """How the launch ended; to be asked after the loop."""
        self.close()
        stream, said = self._stream, tail(self._stderr)
        status, message = outcome(
            stream.exit_code, said, silent_s=stream.silent_s if stream.silent else None,
            complete=self._complete,
        )  # fmt: skip
        return Ended(status, stream.exit_code, message, self._argv, self._wall_s)


def keep_described(raw_dir: Path, described: object) -> None:
    """Write what is started as command.json."""
    text = msgspec.json.format(msgspec.json.encode(described), indent=2)
    writing.write_whole(raw_dir / "command.json", text + b"\n", run_of(raw_dir))


def run_of(path: Path) -> Path:
    """The run directory in whose ``raw`` a file or folder is: no link leads out of it."""
    return next((one.parent for one in path.parents if one.name == "raw"), path.parent)


#: Where in their own sources Hydra's and MPICH's programs gave up: said after the reason.
_SOURCE_LINE = re.compile(r"\(\S+\.c:\d+\): ")

#: What Hydra says where a host has no IPv4 address: it asks for no other (mpl_sockaddr.c and
#: hydra's sock.c, MPICH 4.0.2 and 5.0.2).
_NO_IPV4 = re.compile(r"unable to get host address for (\S{1,253})")

#: What MPIs say because we asked what carries their messages: see the stacks' ``tells``.
_CHATTER = re.compile(
    r" UCX  (?:INFO|DIAG) | mca: (?:base|bml): | select: init| btl: ?tcp: |MPI startup\(\): "
    r"|^\[\d+\.\d+\] \[[^\]]*\] +[|+]"
)


def tail(path: Path, within: Path | None = None) -> tuple[str, ...]:
    """The telling lines of a file's end: the engine's own, then the last of the others.

    MPI's launchers say much after the engine has told the reason. Rulers, empty lines and
    repetitions are left out; lines of their source files stand only where there is nothing else.
    """
    try:
        lines = (
            read_end(path, TAIL_BYTES, within or run_of(path)).decode(errors="replace").split("\n")
        )
    except OSError as error:
        return (f"{path.name} cannot be read: {error.strerror}",)
    telling = [
        line.strip()[:300]
        for line in lines
        if any(sign.isalnum() for sign in line) and not _CHATTER.search(line[:300])
    ]
    engines = [line for line in dict.fromkeys(telling) if line.startswith(ENGINE_SAYS)]
    others = [line for line in telling if not line.startswith(ENGINE_SAYS)]
    reasons = [line for line in others if _NO_IPV4.search(line)][:1]
    others = [line for line in others if not _SOURCE_LINE.search(line)] or others
    room = max(0, QUOTED_LINES - len(engines) - len(reasons))
    return (*engines[:QUOTED_LINES], *reasons, *others[max(0, len(others) - room) :])


def printed(raw_dir: Path) -> str:
    """The end of what launcher and MPI printed, without the engine's records."""
    texts = []
    for name in ("stdout.jsonl", "stderr.txt"):
        try:
            end = read_end(raw_dir / name, TAIL_BYTES, run_of(raw_dir))
            lines = end.decode(errors="replace").splitlines()
        except OSError:
            continue
        texts += [line for line in lines if not line.startswith("{")]
    return "\n".join(texts)


#: A program or one of its libraries is not on a node: env(1) of GNU and busybox, ld.so of glibc
#: and musl, execve(2) by MPI's launchers.
_CANNOT_START = re.compile(
    r"/fabricgauge-(?:engine|path)\S*: .*(?:No such file or directory|Permission denied|"
    r"error while loading shared libraries|Exec format error|cannot execute|not found)|"
    r"execvp error on file \S*/fabricgauge-|Error loading shared library|Error relocating"
)


def engine_gave_up(said: Sequence[str]) -> bool:
    """Whether a rank of the engine has told why it cannot go on, or could not be started."""
    return any(line.startswith(ENGINE_SAYS) or _CANNOT_START.search(line) for line in said)


def outcome(
    exit_code: int | None, said: Sequence[str], *, silent_s: float | None, complete: bool
) -> tuple[str, str]:
    """Status (``ok``, ``timeout``, ``silent``, ``broken``) and a sentence for a person.

    ``silent_s`` is how long nothing had come when the launch was ended for it, None if it
    was not. A ``complete`` launch has written its last record: it is ``ok`` however
    its processes ended, and the sentence says how.
    """
    last_words = quoted(said)
    if found := next(filter(None, map(_NO_IPV4.search, said)), None):
        last_words = (
            f"; this MPI's launcher connects to IPv4 addresses alone, and {found[1]} has none: give"
            " the hosts such addresses, start the ranks with Slurm (--launcher srun), or measure"
            " without MPI (--tool iperf3)"
        )
    if silent_s is None and exit_code == 0:
        return "ok", ""
    if complete:
        how = "did not end" if silent_s is not None else f"broke off: {_meaning(exit_code)}"
        return "ok", f"every case was recorded, but then MPI's own shutdown {how}{last_words}"
    if silent_s is not None and engine_gave_up(said):
        return "broken", f"the engine gave up, but its launcher did not end{last_words}"
    if silent_s is not None:
        why = f"nothing came for {silent_s:g} s, so the launch was ended"
        return "silent", f"{why}; a node or a link on the way may be dead{last_words}"
    status = "timeout" if exit_code == TIMEOUT_STATUS else "broken"
    return status, f"{_meaning(exit_code)}{last_words}"


def quoted(said: Sequence[str]) -> str:
    """The end of a sentence: a program's last words."""
    return f"; it said: {' | '.join(said)}" if said else "; it said nothing"


def _meaning(exit_code: int | None) -> str:
    if exit_code is None:
        return "the launch was not waited for"
    if exit_code < 0:
        return f"the launcher was ended by {_signal_name(-exit_code)}"
    meaning = MEANING.get(exit_code, "the launch broke off")
    return f"{meaning} (exit status {exit_code})"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
