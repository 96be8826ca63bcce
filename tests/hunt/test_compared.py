"""A hunt for a false "no regression": no comparison that deceives may end with 0."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.hunt import logs

from fabricgauge.cli.verbs import cli

BOTH = logs.osu_bw() + "\n" + logs.osu_latency()
MEMORY = logs.osu_latency(logs.scaled(logs.EDR_US, 0.2)) + "\n" + logs.osu_bw(
    logs.scaled(logs.EDR_MB_S, 1.4)
)  # fmt: skip

PAIRS: Mapping[str, tuple[str, str]] = {
    "B is memory": (BOTH, MEMORY),
    "A is memory": (MEMORY, BOTH),
    "one log twice": (BOTH, BOTH),
    "one log twice, with another line": (BOTH, f"a line\n{BOTH}"),
    "one log and another one behind it": (BOTH, BOTH + "\n" + logs.imb_pingpong()),
    "both are memory": (MEMORY, MEMORY),
    "B is slower": (BOTH, logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.7)) + logs.osu_latency()),
    "B is slower at one size": (
        BOTH, logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.5, 1 << 20)) + logs.osu_latency()
    ),
    "B has twice the latency": (
        BOTH, logs.osu_bw() + logs.osu_latency(logs.scaled(logs.EDR_US, 2.0))
    ),
    "B lost a curve": (BOTH, logs.osu_bw()),
    "B lost the large sizes": (
        BOTH, logs.osu_bw({8: 15.0, 64: 120.0, 1024: 2100.0}) + logs.osu_latency()
    ),
    "nothing in common": (logs.osu_bw(), logs.osu_latency()),
    "B ended on one node": (BOTH, "+ srun -N1 -n2 ./osu_bw\n" + BOTH),
}  # fmt: skip


def status(a: str, b: str, folder: Path) -> int:
    """Import two logs as runs of EDR InfiniBand and compare them."""
    runs = []
    for name, text in (("a", a), ("b", b)):
        log, root = folder / f"{name}.log", folder / name
        log.write_text(text)
        words = ("import", str(log), "--network", "edr", "--hosts", "c[1-2]", "-o", str(root))
        CliRunner().invoke(cli, words)
        runs += [str(run) for run in root.glob("2*")]
    assert len(runs) == 2
    return CliRunner().invoke(cli, ("compare", *runs)).exit_code


def test_nearly_equal_logs_are_no_regression(tmp_path: Path) -> None:
    nearly = logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.002)) + "\n" + logs.osu_latency()
    assert status(BOTH, nearly, tmp_path) == 0


@pytest.mark.parametrize("name", PAIRS)
def test_a_comparison_that_deceives_does_not_pass(name: str, tmp_path: Path) -> None:
    assert status(*PAIRS[name], tmp_path) != 0
