"""A run beside its copy, or one log twice, compares nothing; two measurements that agree do."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.compare.test_comparing import means
from tests.hunt import logs

from fabricgauge.cli.verbs import cli
from fabricgauge.compare.copies import Samples, describe_shared
from fabricgauge.compare.matching import Unlike
from fabricgauge.compare.sides import compare_operands
from fabricgauge.model.comparison import Comparison
from fabricgauge.report.content.comparison import headline

RUNS = Path(__file__).parents[1] / "fixtures/runs"
BOTH = logs.osu_bw() + "\n" + logs.osu_latency()
NEARLY = logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.002)) + "\n" + logs.osu_latency()


def copy_of(case: str, place: Path) -> Path:
    (run,) = (RUNS / f"0.1.0--{case}").iterdir()
    shutil.copytree(run, place)
    return place


def compared(a: Path, b: Path, *unlike: Unlike) -> Comparison:
    return compare_operands(str(a), str(b), a.parent, 0.05, unlike=unlike)


def test_a_run_and_its_renamed_copy_are_one_measurement(tmp_path: Path) -> None:
    a, b = (copy_of("healthy", tmp_path / name) for name in ("a", "b"))
    for other in (a, b):
        found = compared(a, other)
        assert found.outcome == "invalid"
        assert "the same samples in 5 cases of 5" in found.shared
        assert headline(found).startswith("Nothing can be compared: A and B hold the same samples")
    assert CliRunner().invoke(cli, ("compare", str(a), str(b))).exit_code == 3


def test_a_copy_under_other_names_is_one_measurement(tmp_path: Path) -> None:
    a, b = (copy_of("healthy", tmp_path / name) for name in ("a", "b"))
    about = json.loads((b / "run.json").read_text())
    about |= {"started_utc": "2026-11-24T10:00:00Z", "command": ["fabricgauge", "check"]}
    (b / "run.json").write_text(json.dumps(about))
    for name in ("fabric.json", "plan.json", "launches.jsonl", "results.jsonl"):
        text = (b / name).read_text().replace('"c1"', '"n1"').replace('"c2"', '"n2"')
        (b / name).write_text(text.replace('"node":"c', '"node":"n'))
    assert compared(a, b).outcome == "invalid"


def test_records_of_one_run_in_both_are_not_compared(tmp_path: Path) -> None:
    a, b = (copy_of("healthy", tmp_path / name) for name in ("a", "b"))
    lines = (b / "results.jsonl").read_text().splitlines(keepends=True)
    cases = [line for line in lines if '"record":"case"' in line]
    for line in cases[1:]:
        changed = json.loads(line)
        changed["record"]["wall_s"] *= 1.01
        lines[lines.index(line)] = f"{json.dumps(changed)}\n"
    (b / "results.jsonl").write_text("".join(lines))
    found = compared(a, b)
    assert (found.outcome, "in 1 case of 5" in found.shared) == ("invalid", True)


def test_two_runs_are_compared(tmp_path: Path) -> None:
    found = compared(
        copy_of("healthy", tmp_path / "a"), copy_of("slow-link", tmp_path / "b")
    )  # fmt: skip
    assert (found.outcome, found.shared) == ("regression", "")


def imported(text: str, place: Path) -> Path:
    log = place.with_suffix(".log")
    log.write_text(text)
    words = ("import", str(log), "--network", "edr", "--hosts", "c[1-2]", "-o", str(place))
    assert CliRunner().invoke(cli, words).exit_code == 0
    (run,) = place.glob("2*")
    return run


def test_two_imports_of_one_log_are_one_measurement(tmp_path: Path) -> None:
    found = compared(imported(BOTH, tmp_path / "a"), imported(BOTH, tmp_path / "b"))
    assert found.outcome == "invalid"
    assert "the same figures in 2 curves of 2" in found.shared


def test_a_log_among_others_is_found_in_both(tmp_path: Path) -> None:
    other = logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.99))
    found = compared(imported(BOTH, tmp_path / "a"), imported(f"{other}\n{BOTH}", tmp_path / "b"))
    assert (found.outcome, bool(found.shared)) == ("invalid", True)


def test_a_log_and_its_import_are_one_measurement(tmp_path: Path) -> None:
    run = imported(BOTH, tmp_path / "a")
    assert compared(run, tmp_path / "a.log").outcome == "invalid"


def test_a_short_log_is_known_by_its_text(tmp_path: Path) -> None:
    """One row of perftest: another run may have the same figures, and never the same addresses."""
    text, other = logs.perftest(97.6), logs.perftest(97.6).replace("QPN 0x0127", "QPN 0x0131")
    for name, content in (("a", text), ("b", text), ("c", other)):
        (tmp_path / f"{name}.log").write_text(content)
    assert compared(tmp_path / "a.log", tmp_path / "b.log").outcome == "invalid"
    assert compared(tmp_path / "a.log", tmp_path / "c.log").outcome == "no regression"


def test_streams_of_a_saturated_link_are_compared(tmp_path: Path) -> None:
    """Eight rails, or ten runs, at the line rate print the same figures in each measurement."""
    for name, number in (("a", 0x100), ("b", 0x900)):
        rails = (
            logs.perftest(97.61 + rail % 3 * 0.01).replace(
                "QPN 0x0127", f"QPN 0x{number + rail:04x}"
            )
            for rail in range(8)
        )
        (tmp_path / f"{name}.log").write_text("\n".join(rails))
    found = compared(tmp_path / "a.log", tmp_path / "b.log")
    assert (found.outcome, found.shared) == ("no regression", "")


def test_two_logs_with_some_equal_figures_are_compared(tmp_path: Path) -> None:
    found = compared(imported(BOTH, tmp_path / "a"), imported(NEARLY, tmp_path / "b"))
    assert (found.outcome, found.shared) == ("no regression", "")


def test_two_unlike_curves_of_one_run_are_compared(tmp_path: Path) -> None:
    run = copy_of("healthy", tmp_path / "a")
    found = compared(run, run, Unlike("latency", "latency"))
    assert found.shared
    a, b = (tmp_path / name for name in ("send.log", "write.log"))
    a.write_text(logs.perftest(97.6))
    b.write_text(logs.perftest(97.6).replace("RDMA_Write BW", "Send BW"))
    assert compared(a, b, Unlike("ib_write_bw", "ib_send_bw")).shared == ""


def test_a_published_result_against_itself_is_one_measurement(tmp_path: Path) -> None:
    found = compare_operands(
        "ref:guide-1gbe-imb-pingpong", "guide-1gbe-imb-pingpong", tmp_path, 0.05
    )
    assert found.outcome == "invalid"


@pytest.mark.parametrize(
    ("figures", "shared"),
    [
        ({8: 1.2e-6}, False), ({8: 1.25e-6, 64: 1.31e-6}, False),
        ({1 << size: 1.001e-6 + size * 1.37e-8 for size in range(12)}, True),
        ({1 << size: 12.1e-6 for size in range(12)}, False),
    ],
)  # fmt: skip
def test_equal_figures_need_digits_that_chance_decides(
    figures: dict[int, float], shared: bool
) -> None:
    """A steady rate prints one figure again and again, and a short table has few digits."""
    a, b = (means(figures, source=name) for name in ("a.out", "b.out"))
    assert bool(describe_shared(Samples(), [a], Samples(), [b])) is shared
    changed = msgspec.structs.replace(
        b.points[0], estimate=msgspec.structs.replace(b.points[0].estimate, value=2e-6)
    )
    other = msgspec.structs.replace(b, points=(changed, *b.points[1:]))
    assert not describe_shared(Samples(), [a], Samples(), [other])
