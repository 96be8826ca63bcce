"""Time what management asks of the nodes, before a load and under it; judge the difference.

Each round asks every node for an echo and a connection to its neighbours over the loaded network,
for the fabric's tools that it has (``answers.sh``), and for nothing at all: the way to the node
itself. What did not answer before the load is no fault of the load.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import resources
from queue import SimpleQueue
from statistics import median
from threading import Event, Thread

import msgspec

from fabricgauge.logs.readers.lines import number_of
from fabricgauge.model.fabric import Network
from fabricgauge.model.host_access import Host
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import duration
from fabricgauge.nodes.process import ChildGroup, run

#: The way to a node: its launcher starts a program there.
ACCESS = "access"
#: An empty program: it shows how busy the host is.
HOST = "true"
#: The beginning of the kind of echoes in a traffic class; the TOS byte follows.
CLASS = "echo-"
#: An echo in a class passes the load if it takes at most this share of a plain one.
PASSES = 0.5
#: Rounds before the load, and the pause between two rounds.
ROUNDS_BEFORE, PAUSE_S = 5, 0.5
#: Longest time of a round: two peers and four tools at their limits, and the way to the node.
ROUND_S = 45.0
MOST_AT_ONCE = 64
#: An answer is missing too often from this number and share on; a single one is a warning.
MISSING, MISSING_SHARE = 2, 0.2
#: An answer is slow beyond this time, and this many times what it took before the load.
SLOW_S, SLOW_FACTOR = 0.1, 5.0
#: Exit statuses of ``answers.sh``: an answer, and a question that the node cannot ask, which is a
#: missing answer if it had one before the load. Any other one is a missing answer: tools of a
#: fabric end with 1 if their datagrams are lost.
_ANSWERED, _CANNOT_ASK = 0, (126, 127)
#: Digits of the longest time and exit status that a node may print: 31 years in nanoseconds.
_TIME_DIGITS, _CODE_DIGITS = 18, 3
#: Time for the round under way to end after its programs were ended.
_END_S = 10.0


class Asked(msgspec.Struct, frozen=True):
    """Answers to one question in one phase. ``median_s`` and ``worst_s`` are of those that came."""

    asked: int = 0
    missing: int = 0
    median_s: float = 0.0
    worst_s: float = 0.0


class Answer(msgspec.Struct, frozen=True):
    """One question to a node, before the load and under it.

    ``kind`` is ``echo``, ``echo-184`` in a traffic class, ``connect``, a tool's name, ``true`` or
    ``access``; ``peer`` is the node that an echo or connection goes to.
    """

    node: str
    kind: str
    peer: str
    before: Asked
    loaded: Asked

    @property
    def name(self) -> str:
        if self.kind == ACCESS:
            return f"the way to {self.node}"
        if self.peer:
            what = {"connect": "a connection", "echo": "an echo"}.get(
                self.kind, f"an echo of class {self.kind.removeprefix(CLASS)}"
            )
            return f"{what} {self.node} → {self.peer}"
        return f"{self.kind} on {self.node}"


#: Node, kind and peer; the seconds that each answer took, None for a missing one.
Question = tuple[str, str, str]
Times = dict[Question, list[float | None]]


_SCRIPT = resources.files(__package__).joinpath("answers.sh")


def parse_round(node: str, text: str, names: Mapping[str, str]) -> dict[Question, float | None]:
    """Return the answers of one round; ``names`` are the nodes by address.

    Lines of another form, and questions that the node cannot ask, are left out.
    """
    answers: dict[Question, float | None] = {}
    for line in text.splitlines():
        words = line.split()
        if not 5 <= len(words) <= 6 or words[0] != "answer":
            continue
        _, kind, peer, code_word, took_word, *printed_times = words
        code, took = _count_of(code_word, _CODE_DIGITS), _count_of(took_word, _TIME_DIGITS)
        if code is None or took is None or code in _CANNOT_ASK:
            continue
        if peer != "-" and peer not in names:
            continue
        milliseconds = number_of(printed_times[0]) if printed_times else None
        if milliseconds is None or not 0 <= milliseconds < math.inf:
            milliseconds = took * 1e-6
        answers[node, kind, names.get(peer, "")] = (
            milliseconds * 1e-3 if code == _ANSWERED else None
        )
    return answers


def _count_of(word: str, most_digits: int) -> int | None:
    """Return a printed whole number; None for another word, and for one of more digits."""
    return int(word) if word.isdecimal() and len(word) <= most_digits else None


class Asker:
    """Ask all nodes round by round; between ``note_load`` and ``end`` in the background.

    An error ends the asking, not the soak: ``error`` keeps it.
    """

    def __init__(
        self, hosts: Sequence[Host], network: Network | None, traffic_class: int | None = None
    ) -> None:
        self._class = "none" if traffic_class is None else str(traffic_class)
        members = network.members if network else ()
        by_node = {member.node: member for member in members if member.ip}
        self._hosts = hosts
        self._names = {member.ip: node for node, member in by_node.items()}
        ring = [host.node for host in hosts if host.node in by_node]
        self._words = {
            node: (by_node[node].interface, by_node[ring[(place + 1) % len(ring)]].ip)
            for place, node in enumerate(ring)
            if len(ring) > 1
        }
        self._stop = Event()
        self._programs = ChildGroup()
        self._rounds: SimpleQueue[Times] = SimpleQueue()
        self._thread: Thread | None = None
        self.loaded: Times = {}
        self.error = ""

    def ask(self, rounds: int) -> Times:
        """Ask a number of rounds, one after the other."""
        times: Times = {}
        with self._keeping_error():
            for _ in range(rounds):
                _add_round(times, self._ask_all())
        return times

    def note_load(self) -> None:
        """Note that the load goes on: ``loaded`` takes the rounds that ended until now.

        The first call begins to ask, unless an error ended the asking.
        """
        while not self._rounds.empty():
            _add_round(self.loaded, self._rounds.get())
        if self._thread is None and not self.error:
            self._thread = Thread(target=self._go_on, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Break off the round under way, which is not under load alone."""
        self._stop.set()
        self._programs.end()
        if self._thread is not None:
            self._thread.join(_END_S)

    def _go_on(self) -> None:
        with self._keeping_error():
            while not self._stop.is_set():
                self._rounds.put(self._ask_all())
                self._stop.wait(PAUSE_S)

    @contextmanager
    def _keeping_error(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the verdict names it, whatever it is
            if not self._stop.is_set():
                self.error = f"{type(error).__name__}: {error}"

    def _ask_all(self) -> Times:
        times: Times = {}
        with ThreadPoolExecutor(min(MOST_AT_ONCE, max(1, len(self._hosts)))) as pool:
            for answers in pool.map(self._ask, self._hosts):
                _add_round(times, {question: [took_s] for question, took_s in answers.items()})
        return times

    def _ask(self, host: Host) -> dict[Question, float | None]:
        interface, *peers = self._words.get(host.node, ("lo",))
        argv = host.through(
            ("sh", "-c", _SCRIPT.read_text("utf-8"), "answers", interface, self._class, *peers)
        )
        began_s = time.monotonic()
        done = run(argv, timeout_s=ROUND_S, group=self._programs)
        took_s = time.monotonic() - began_s
        answers = parse_round(host.node, done.stdout, self._names)
        # The questions of a round took this time, answered or not.
        lines = (line.split() for line in done.stdout.splitlines())
        counts = (words[4] for words in lines if len(words) >= 5 and words[0] == "answer")
        waited_s = sum((_count_of(count, _TIME_DIGITS) or 0) * 1e-9 for count in counts)
        reached = done.exit_code == 0 and not done.timed_out
        answers[host.node, ACCESS, ""] = max(0.0, took_s - waited_s) if reached else None
        return answers


def _add_round(times: Times, answered: Times) -> None:
    for question, took_s in answered.items():
        times.setdefault(question, []).extend(took_s)


def compare_phases(before: Times, loaded: Times) -> tuple[Answer, ...]:
    """Return each question with both phases, in the order of the first answers.

    A question that had an answer before the load, and that a node could not ask in a round under
    it, is a missing answer of that round: its program is gone, or cannot be started any more.
    """
    answers = list[Answer]()
    for question in dict.fromkeys((*before, *loaded)):
        former, times = before.get(question, []), loaded.get(question, [])
        rounds = loaded.get((question[0], ACCESS, ""), [])
        reached = sum(took_s is not None for took_s in rounds)
        has_answered = any(took_s is not None for took_s in former)
        lost = max(0, reached - len(times)) if has_answered else 0
        answers.append(Answer(*question, _summary(former), _summary([*times, *[None] * lost])))
    return tuple(answers)


def _summary(times: Sequence[float | None]) -> Asked:
    came = [took_s for took_s in times if took_s is not None]
    if not came:
        return Asked(len(times), len(times))
    return Asked(len(times), len(times) - len(came), median(came), max(came))


def judge_answer(answer: Answer) -> Outcome:
    """Return FAIL for missing answers, WARN for a single or slow one, SKIPPED if unjudged.

    A question that had no answer before the load is not judged. One that had, and none under it,
    fails.
    """
    before, loaded = answer.before, answer.loaded
    if before.asked == before.missing:
        return Outcome.SKIPPED
    if loaded.asked == loaded.missing:
        return Outcome.FAIL
    if loaded.missing >= MISSING and loaded.missing >= MISSING_SHARE * loaded.asked:
        return Outcome.FAIL
    slow = loaded.median_s > max(SLOW_S, SLOW_FACTOR * before.median_s)
    return Outcome.WARN if loaded.missing or slow else Outcome.PASS


def judge_each(answers: Sequence[Answer]) -> dict[Answer, Outcome]:
    """Return the outcome of each answer: SKIPPED if no round at all ended under the load."""
    is_asked = any(answer.loaded.asked for answer in answers)
    return {answer: judge_answer(answer) if is_asked else Outcome.SKIPPED for answer in answers}


def judge_answers(answers: Sequence[Answer], error: str = "") -> tuple[Outcome, str]:
    """Return the outcome of all answers and its reason; ``error`` ended the asking early.

    On a host where an empty program is slow or missing too, other missing answers are the host's:
    INCONCLUSIVE. So are answers without one over the network or of a fabric's tool.
    """
    outcomes = judge_each(answers)
    busy = {
        answer.node
        for answer, outcome in outcomes.items()
        if answer.kind == HOST and outcome in (Outcome.WARN, Outcome.FAIL)
    }
    for wanted in (Outcome.FAIL, Outcome.WARN):
        if wanted is Outcome.WARN and error:
            return Outcome.INCONCLUSIVE, f"an error ended the asking of the nodes early: {error}"
        bad = [answer for answer, outcome in outcomes.items() if outcome is wanted]
        network_bad = [a for a in bad if not busy & {a.node, a.peer}]
        if network_bad:
            worst = max(network_bad, key=lambda a: (a.loaded.missing, a.loaded.median_s))
            more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
            return wanted, f"{describe(worst)}{more}"
    if busy:
        node = sorted(busy)[0]
        return Outcome.INCONCLUSIVE, f"{node} was too busy to answer: an empty program waited too"
    for answer, usual in find_held_classes(answers):
        return Outcome.WARN, (
            f"{answer.name} does not pass the load: it took {duration(answer.loaded.median_s)}, a"
            f" plain one {duration(usual.loaded.median_s)}; no queue on the way prefers it"
        )
    if not any(answer.loaded.asked for answer in answers):
        return Outcome.INCONCLUSIVE, "no round of questions ended under the load: soak for longer"
    # A fabric's tool may end well without an adapter: it stands alone only without addresses.
    fabric = [outcome for answer, outcome in outcomes.items() if answer.peer] or [
        outcome for answer, outcome in outcomes.items() if answer.kind not in (HOST, ACCESS)
    ]
    if not fabric:
        return Outcome.INCONCLUSIVE, (
            "the nodes have no address to ask over the network, and no tool of a fabric"
        )
    if Outcome.PASS not in fabric:
        return Outcome.INCONCLUSIVE, (
            "no echo, connection or tool of a fabric had an answer before the load"
        )
    return Outcome.PASS, "all answered under load"


def find_held_classes(answers: Sequence[Answer]) -> tuple[tuple[Answer, Answer], ...]:
    """Return echoes in a traffic class that wait as long as the load, each with the plain echo.

    It is known only if the load slows plain echoes.
    """
    plain = {(answer.node, answer.peer): answer for answer in answers if answer.kind == "echo"}
    in_class = (answer for answer in answers if answer.kind.startswith(CLASS))
    pairs = (
        (answer, plain[answer.node, answer.peer])
        for answer in in_class
        if (answer.node, answer.peer) in plain
    )
    return tuple(
        (answer, usual)
        for answer, usual in pairs
        if judge_answer(answer) is not Outcome.SKIPPED
        and usual.loaded.median_s > SLOW_FACTOR * usual.before.median_s > 0
        and answer.loaded.median_s > PASSES * usual.loaded.median_s
    )


def describe(answer: Answer) -> str:
    """Return an answer's figures in one line."""
    before, loaded = answer.before, answer.loaded
    came = (
        f"before it {before.asked - before.missing} of {before.asked} came, in"
        f" {duration(before.median_s)}"
    )
    if not loaded.asked:
        return f"under load {answer.name} could not be asked any more; {came}"
    if loaded.missing:
        times = f"{loaded.missing} of {loaded.asked} times"
        return f"under load {answer.name} had no answer {times}; {came}"
    return (
        f"under load {answer.name} took {duration(loaded.median_s)} in the median, at worst"
        f" {duration(loaded.worst_s)}; before it {duration(before.median_s)}"
    )
