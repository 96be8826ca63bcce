"""A soak's pace, its outcome, its report, and one real one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.docs.json_schemas import require_fit
from tests.features.soak.test_watching import make_record

from fabricgauge.features.soak import soaking
from fabricgauge.features.soak.answers import ROUNDS_BEFORE, Asker, Times
from fabricgauge.features.soak.content import KIND
from fabricgauge.features.soak.events import Event, describe_event
from fabricgauge.features.soak.proof import (
    Crossing,
    find_ceiling,
    find_crossings,
    judge_crossings,
)
from fabricgauge.features.soak.soaking import (
    SOAKED,
    VERSION,
    Soaked,
    choose_pace,
    judge,
    show_stored,
)
from fabricgauge.features.soak.watching import (
    CurvePoint,
    Dip,
    Direction,
    NodeOctets,
    SoakWatch,
    Stuck,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine
from fabricgauge.model.fabric import Fabric, Member, Network
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting
from fabricgauge.store.run_directory import PARTIAL, RunDirectory

ENDED = Ended("ok", 0, "", (), 60.0)
START_S = 1.8e9
MESSAGE_BYTES, CEILING = 122880, 117.6e6
PAYLOAD = 3000 * MESSAGE_BYTES


def make_crossing(node: str, **fields: Any) -> Crossing:
    """Return counters of a node that sent and received all messages over eth0."""
    octets = int(1.02 * PAYLOAD)
    crossing = Crossing(node, ("eth0",), PAYLOAD, PAYLOAD, octets, octets, 1000, 1000)
    return msgspec.structs.replace(crossing, **fields)


def make_directions(
    median_s: float, *, later_s: float = 0.0, ping_s: float = 2e-5, stopped_s: float = 0.0
) -> tuple[Direction, ...]:
    """Return a direction with a usual time, and another one in its second half."""
    points = [
        CurvePoint(START_S + s, later_s if later_s and s >= 30 else median_s, 0.02, ping_s, 0.02)
        for s in range(60)
    ]
    return (Direction("c1", "c2", 3000, 3000, curve=points, stopped_s=stopped_s),)


def make_dip(number: int = 0, **fields: Any) -> Dip:
    dip = Dip("c1", "c2", "rate", "network", START_S + 10 * number, 0.2, 1.1e-3, 3.6e-3, 10, 0.0,
              {"c1": {"TCP segments sent again": 3}, "c2": {}})  # fmt: skip
    return msgspec.structs.replace(dip, **fields)


def make_soaked(*dips: Dip, stopped_s: float = 0.0, **fields: Any) -> Soaked:
    points = [CurvePoint(START_S + s, 1.1e-3, 2e-3, 2e-5, 5e-5) for s in range(60)]
    ways = (
        Direction("c1", "c2", 3000, 3000, list(dips), stopped_s=stopped_s, curve=points),
        Direction("c2", "c1", 3000, 3000, curve=points),
    )
    soaked = Soaked(
        "net1", ("c1", "c2"), MESSAGE_BYTES, 0.02, 60, 60, START_S, ways, (), ENDED,
        crossings=(make_crossing("c1"), make_crossing("c2")), ceiling_bytes_per_s=CEILING,
    )  # fmt: skip
    return msgspec.structs.replace(soaked, **fields)


def test_the_json_report_fits_its_schema() -> None:
    report = formats_of(KIND)["json"](make_soaked(make_dip(), stopped_s=1.0), Setting())
    require_fit("soak-report", json.loads(report))


def test_the_pace_uses_its_share_of_the_link() -> None:
    network = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "stated", ())
    pace = choose_pace(network, 0.05, 2)
    assert pace.message_bytes * 8 / 1e9 == pytest.approx(1e-3, rel=0.05)
    assert pace.message_bytes * 8 / pace.period_s == pytest.approx(0.05e9)
    fast = choose_pace(msgspec.structs.replace(network, rate_bit_s=400e9), 1.0, 2048)
    assert (fast.message_bytes, fast.interval_s) == (16 << 20, 64.0)
    unknown = msgspec.structs.replace(network, rate_bit_s=Skipped("no source"))
    assert choose_pace(unknown, 0.05, 2) == pace


@pytest.mark.parametrize(
    ("soaked", "outcome"),
    [
        (make_soaked(), Outcome.PASS),
        (make_soaked(make_dip()), Outcome.WARN),
        (make_soaked(make_dip(), make_dip(1), make_dip(2)), Outcome.FAIL),
        (make_soaked(*(make_dip(n, source="host") for n in range(5))), Outcome.PASS),
        (make_soaked(make_dip(kind="stall", worst_s=2.0)), Outcome.FAIL),
        (make_soaked(stopped_s=20.0), Outcome.INCONCLUSIVE),
        (make_soaked(*map(make_dip, range(9)), stopped_s=20.0), Outcome.FAIL),
        (make_soaked(*(make_dip(n, length_s=0.01) for n in range(9)), stopped_s=20.0),
         Outcome.INCONCLUSIVE),
        (make_soaked(interrupted=True, soaked_s=20.0), Outcome.INCONCLUSIVE),
        (make_soaked(soaked_s=0.0, directions=()), Outcome.INCONCLUSIVE),
        (make_soaked(stuck=(Stuck("c2", "", START_S, START_S + 6, "its rank is stopped"),)),
         Outcome.FAIL),
        (make_soaked(stuck=(Stuck("c2", "", START_S, START_S + 6),)), Outcome.INCONCLUSIVE),
        (make_soaked(stuck=(Stuck("c1", "c2", START_S, START_S + 6),)), Outcome.FAIL),
        (make_soaked(stuck=(Stuck("c2", "", START_S, START_S + 6, paused_s=6.0),)), Outcome.WARN),
        (make_soaked(make_dip(length_s=40.0)), Outcome.FAIL),
        (make_soaked(make_dip(length_s=4.0)), Outcome.WARN),
        (make_soaked(make_dip(length_s=4.0), soaked_s=20.0), Outcome.FAIL),
        (make_soaked(make_dip(length_s=40.0, source="host")), Outcome.PASS),
        # At 10 % of the rate from the beginning, at half, little by little; at 80 %; rate unknown.
        (make_soaked(directions=make_directions(10.4e-3)), Outcome.FAIL),
        (make_soaked(directions=make_directions(10.4e-3), ceiling_bytes_per_s=0.0), Outcome.PASS),
        (make_soaked(directions=make_directions(1.1e-3, later_s=2.6e-3)), Outcome.FAIL),
        (make_soaked(directions=make_directions(1.6e-3)), Outcome.WARN),
        (make_soaked(directions=make_directions(1.3e-3)), Outcome.PASS),
        # Round trips wait behind the messages of a slow link; busy hosts explain a part only.
        (make_soaked(directions=make_directions(19.6e-3, ping_s=19e-3)), Outcome.FAIL),
        (make_soaked(directions=make_directions(19.6e-3, stopped_s=22.0)), Outcome.FAIL),
        (make_soaked(directions=make_directions(4.2e-3, stopped_s=22.0)), Outcome.INCONCLUSIVE),
        # Bytes took shared memory or another interface, partly; counters lag, or were not read.
        (make_soaked(crossings=(make_crossing("c1", sent_bytes=10_000),)), Outcome.INVALID),
        (make_soaked(crossings=(
            make_crossing("c1", received_bytes=0, other_received_bytes=PAYLOAD),
        )), Outcome.INVALID),
        (make_soaked(crossings=(make_crossing("c1", sent_bytes=PAYLOAD * 9 // 10),)),
         Outcome.INCONCLUSIVE),
        (make_soaked(crossings=(make_crossing("c1", other_sent_bytes=PAYLOAD),)),
         Outcome.INCONCLUSIVE),
        (make_soaked(crossings=(make_crossing("c1", unread="no counters"),)), Outcome.INCONCLUSIVE),
        (make_soaked(crossings=()), Outcome.INCONCLUSIVE),
        (make_soaked(make_dip(), make_dip(1), make_dip(2), crossings=()), Outcome.FAIL),
        (make_soaked(asking_error="ValueError: no number"), Outcome.INCONCLUSIVE),
        (make_soaked(*map(make_dip, range(3)), asking_error="ValueError"), Outcome.FAIL),
    ],
)  # fmt: skip
def test_the_outcome_follows_from_what_was_seen(soaked: Soaked, outcome: Outcome) -> None:
    assert judge(soaked)[0] is outcome


@pytest.mark.parametrize(("seconds", "a_second", "every_s", "resent", "outcome"), [
    (100, 5, 1, 0, Outcome.WARN), (100, 1, 8, 0, Outcome.WARN), (100, 1, 11, 0, Outcome.PASS),
    (60, 1, 8, 0, Outcome.PASS), (1800, 1, 250, 0, Outcome.PASS),
    (100, 1, 30, 1, Outcome.WARN), (100, 1, 60, 1, Outcome.PASS), (1800, 1, 900, 1, Outcome.PASS),
    (1800, 1, 90, 1, Outcome.WARN),
])  # fmt: skip
def test_single_late_messages_warn_if_they_come_again_and_again(
    seconds: int, a_second: int, every_s: int, resent: int, outcome: Outcome
) -> None:
    """Each is 45 ms late without a pause; a quiet lab had 7 in 30 minutes, 2 of them sent again."""
    watch = SoakWatch(("c1", "c2"), 0.02, 1.0)
    for second in range(seconds):
        count = a_second if second % every_s == every_s - 1 else 0
        slow = [(START_S + second + 0.1 + 0.19 * n, 46e-3, 0.0, 0.0) for n in range(count)]
        again = resent if count else 0
        for rank in range(2):
            record = make_record(second, slow if rank == 0 else (), rank=rank,
                                 retransmitted_segments=again)  # fmt: skip
            watch.add(record, record.at_s)
    watch.close()
    late, other = watch.directions
    ways = tuple(
        msgspec.structs.replace(sound, dips=way.dips, unexplained=way.unexplained,
                                unexplained_s=way.unexplained_s, resent=way.resent)
        for sound, way in zip(make_soaked().directions, (late, other), strict=True)
    )  # fmt: skip
    found, reason = judge(make_soaked(directions=ways, soaked_s=float(seconds)))
    assert (found, late.dips) == (outcome, [])
    assert late.unexplained == seconds // every_s * a_second
    assert other.unexplained == 0
    if outcome is Outcome.WARN:
        assert reason.startswith("c1 → c2")
        assert f"{late.unexplained:,} messages" in reason
        assert "44.9 ms" in reason


@pytest.mark.parametrize(("slow_from", "outcome"), [(30, Outcome.FAIL), (60, Outcome.PASS)])
def test_a_slowdown_to_the_end_fails(slow_from: int, outcome: Outcome) -> None:
    """The engine keeps the usual time of before, so that all is one dip, open at the end."""
    watch = SoakWatch(("c1", "c2"), 0.02, 1.0)
    for second in range(60):
        is_slow = second >= slow_from
        slow = [(START_S + second + 0.02 * n, 1.9e-3, 0.0, 0.0) for n in range(50 * is_slow)]
        watch.add(make_record(second, slow, median_s=1.9e-3 if is_slow else 1.1e-3), START_S)
    watch.close()
    assert [len(way.dips) for way in watch.directions] == [int(slow_from < 60), 0]
    assert judge(make_soaked(directions=tuple(watch.directions)))[0] is outcome


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [({"eth0": PAYLOAD}, Outcome.PASS), ({"eth0": 900, "mgmt0": PAYLOAD}, Outcome.INVALID),
     ({"mgmt0": PAYLOAD}, Outcome.INCONCLUSIVE), ({}, Outcome.INCONCLUSIVE)],
)  # fmt: skip
def test_counters_are_compared_with_messages_by_size(
    sent: dict[str, int], outcome: Outcome
) -> None:
    members = tuple(Member(node, "eth0", "", 1500) for node in ("c1", "c2"))
    network = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "stated", members)
    ways = make_soaked().directions
    octets = {node: NodeOctets(sent, sent, "" if sent else "none") for node in ("c1", "c2")}
    crossings = find_crossings(Fabric((), (), (network,)), network, ways, MESSAGE_BYTES, octets)
    assert judge_crossings(crossings)[0] is outcome
    assert judge_crossings(find_crossings(Fabric((), (), ()), None, ways, MESSAGE_BYTES, octets))[
        0
    ] is (Outcome.INCONCLUSIVE)


def test_the_ceiling_is_that_of_the_network() -> None:
    member = Member("c1", "eth0", "", 1500)
    network = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "stated", (member,))
    assert find_ceiling(network) == pytest.approx(CEILING, rel=0.01)
    assert find_ceiling(msgspec.structs.replace(network, rate_bit_s=Skipped("no source"))) == 0.0


def test_a_dip_states_time_direction_length_and_counters() -> None:
    line = describe_event(Event(make_dip()))
    for part in ("2027-01-15 08:00:00.0 UTC", "c1 → c2", "200 ms", "3.60 ms", "sent again +3"):
        assert part in line


@pytest.mark.parametrize("name", ["terminal", "html", "markdown", "json", "csv"])
def test_every_format_names_the_dip(name: str) -> None:
    text = formats_of(KIND)[name](make_soaked(make_dip()), Setting())
    assert "c1" in text
    assert "c2" in text
    assert "3.60 ms" in text or "0.0036" in text


def make_echo(number: int, **fields: Any) -> Dip:
    """Return round trips of c2 that were slow while messages c1 → c2 were."""
    values: dict[str, Any] = {"kind": "latency", "usual_s": 120e-6, "worst_s": 2.9e-3, **fields}
    return make_dip(number, origin="c2", target="c1", **values)


def test_round_trips_behind_a_slow_direction_do_not_accuse_their_own() -> None:
    """One dip c1 → c2 was the host's by the stream, so that three round trips of c2 stand alone."""
    there = Direction("c1", "c2", 3000, dips=[make_dip(), make_dip(1)])
    back = Direction("c2", "c1", 3000, dips=[make_echo(0), make_echo(1), make_echo(2)])
    soaked = make_soaked(directions=(there, back))
    assert judge(soaked) == (Outcome.WARN, "c1 → c2: 2 dips")
    text = " ".join(formats_of(KIND)["terminal"](soaked, Setting()).split())
    assert text.count(" for 200 ms: messages took") == 2
    assert text.count("c2 → c1 and back for 200 ms: a round trip") == 1
    alone = make_soaked(
        directions=(Direction("c2", "c1", 3000, dips=list(map(make_echo, range(3)))),)
    )
    outcome, reason = judge(alone)
    assert outcome is Outcome.FAIL and reason.startswith("c2 → c1 and back: 3 dips")


def test_dips_of_one_moment_are_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of c2 comes first; the line waits for that of c1, and for no later one."""
    lines = list[str]()
    context: Any = SimpleNamespace(
        directory=RunDirectory.create(tmp_path), fabric=Fabric((), (), ()),
        progress=SimpleNamespace(trouble=lines.append),
    )  # fmt: skip
    launch = PlannedLaunch(1, "net1", None, ("c1", "c2"), ())
    watching = soaking._Soak(context, launch, None, choose_pace(None, 0.05, 2))
    written = list[int]()
    for second in range(5):
        slow = [(START_S + 1.4 + 0.02 * n, 3.6e-3, 0.0, 0.0) for n in range(10 * (second == 1))]
        for rank in (1, 0):
            monkeypatch.setattr("time.time", lambda s=second: START_S + s + 1)
            trips: dict[str, Any] = {"ping_slow": tuple(slow)} if rank else {"slow": tuple(slow)}
            watching.take(make_record(second, rank=rank, **trips))
        written.append(len(lines))
    assert written == [0, 0, 0, 1, 1]
    assert "c1 → c2 for 184 ms" in lines[0] and "c2 → c1 and back: a round trip" in lines[0]
    watching.finish(5.0, ENDED)
    assert len(lines) == 1
    assert len((context.directory.path / soaking.DIPS).read_text().splitlines()) == 2


def test_a_stored_soak_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = RunDirectory.create(tmp_path)
    assert show_stored(directory, "json", None) is None
    directory.finish_with(SOAKED, make_soaked(make_dip()), b"page")
    assert directory.complete
    assert show_stored(directory, "json", None) is Outcome.WARN
    report = json.loads(capsys.readouterr().out)
    assert report["overall"] == "WARN"
    assert report["soak"]["directions"][0]["dips"][0]["length_s"] == 0.2


def test_a_second_interrupt_keeps_the_measured_soak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The soak is on disk before anything waits for the nodes' answers."""

    class Interrupted(Asker):
        def ask(self, rounds: int) -> Times:
            self.loaded = {("c1", "echo", "c2"): [1e-3] * rounds}
            return self.loaded

        def end(self) -> None:
            raise KeyboardInterrupt

    soaked = make_soaked(interrupted=True, soaked_s=20.0)
    launch = PlannedLaunch(1, "net1", None, ("c1", "c2"), ())
    nothing: Any = None
    engine = Engine(tmp_path, nothing, "", (), "")
    replaced = {"Asker": Interrupted, "_choose_launch": lambda _: launch,
                "soak_program": lambda _: engine, "_watch": lambda *_: (soaked, True)}  # fmt: skip
    for name, value in replaced.items():
        monkeypatch.setattr(soaking, name, value)
    directory = RunDirectory.create(tmp_path)
    access = SimpleNamespace(hosts=(), launcher="local")
    context: Any = SimpleNamespace(
        directory=directory, fabric=Fabric((), (), ()), engine=None,
        target=SimpleNamespace(access=access), progress=SimpleNamespace(stage=lambda _: None),
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        soaking.soak(context, 60.0, 0.05, answers=True)
    stored = directory.read(SOAKED, Soaked, VERSION)
    assert stored.soaked_s == 20.0 and stored.answers[0].loaded.asked == ROUNDS_BEFORE


def test_a_stopped_rank_comes_before_the_direction_to_it() -> None:
    way = Stuck("c1", "c2", START_S, START_S + 5)
    rank = Stuck("c2", "", START_S, START_S + 6, "its rank is stopped by a signal (state T)")
    outcome, reason = judge(make_soaked(stuck=(way, rank)))
    assert outcome is Outcome.FAIL
    assert reason.startswith("c2: its rank is stopped")


@pytest.mark.lab
@pytest.mark.engine
def test_a_soak_of_a_lab_keeps_both_directions_up(tmp_path: Path) -> None:
    """Load may make dips; it stops no message."""
    program = Path(sys.executable).with_name("fabricgauge")
    words = ("check", "--lab", "--soak", "2s", "--answers", "-q", "--format", "json",
             "-o", str(tmp_path))  # fmt: skip
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1, 3), done.stderr
    report = json.loads(done.stdout)
    ways = report["soak"]["directions"]
    assert [(way["origin"], way["target"]) for way in ways] == [("c1", "c2"), ("c2", "c1")]
    assert all(way["messages"] > 0 and way["pings"] > 0 for way in ways)
    answers = report["soak"]["answers"]
    asked = {(answer["node"], answer["kind"], answer["peer"]) for answer in answers}
    assert asked >= {("c1", "echo", "c2"), ("c2", "connect", "c1"), ("c1", "access", "")}
    # Tools of a fabric may be there without an adapter: they fail from the beginning.
    assert all(answer["before"]["missing"] == 0 for answer in answers if answer["peer"])
    (run,) = tmp_path.iterdir()
    assert {SOAKED, "report.html", "fabric.json"} <= {entry.name for entry in run.iterdir()}


def find_rank(run: str, host: str) -> int:
    """Return the process of a soak's rank on a node of a lab."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_rank = (entry / "comm").read_text().startswith("fabricgauge-eng")
            environ = (entry / "environ").read_bytes() if is_rank else b""
        except OSError:
            continue
        if f"{run}/soak".encode() in environ:
            words = ["nsenter", "-t", entry.name, "--uts", "hostname"]
            named = subprocess.run(words, capture_output=True, text=True, check=False)
            if named.stdout.strip() == host:
                return int(entry.name)
    raise LookupError(host)


@pytest.mark.lab
@pytest.mark.engine
@pytest.mark.slow
def test_a_stopped_rank_is_named_while_it_stands(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("fabricgauge")
    words = ("check", "--lab", "--lab-nodes", "3", "--soak", "30s", "-o", str(tmp_path))
    child = subprocess.Popen([program, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)  # fmt: skip
    assert child.stderr is not None
    while "soaking" not in child.stderr.readline():
        assert child.poll() is None
    time.sleep(8)
    (run,) = (entry.name.removesuffix(PARTIAL) for entry in tmp_path.iterdir())
    rank = find_rank(run, "c2")
    os.kill(rank, signal.SIGSTOP)
    stopped_s = time.monotonic()
    try:
        while "c2: its rank is stopped" not in child.stderr.readline():
            assert time.monotonic() < stopped_s + 15
    finally:
        os.kill(rank, signal.SIGCONT)
    out, _ = child.communicate(timeout=90)
    assert child.returncode == 1
    assert "FAIL  c2: its rank is stopped" in out
