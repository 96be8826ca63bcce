"""``check --victim-class`` refuses what it would not heed, before a node is reached."""

import pytest
from click.testing import CliRunner

from fabricgauge.cli.check import _WITH_CLASSES, check
from fabricgauge.cli.verbs import cli
from fabricgauge.model.errors import UsageError

BOTH = ("--victim-class", "184", "--bulk-class", "0")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--victim-class", "184"), "--victim-class and --bulk-class go together"),
        (("--bulk-class", "0"), "--victim-class and --bulk-class go together"),
        ((*BOTH, "--patterns", "latency"), "--patterns"),
        ((*BOTH, "--sizes", "8"), "--sizes"),
        ((*BOTH, "--soak", "5s"), "--victim-class has no effect on --soak"),
        ((*BOTH, "--campaign", "tutorial"), "--campaign"),
        ((*BOTH, "--tool", "osu"), "--tool"),
        ((*BOTH, "--unpinned"), "--unpinned"),
        ((*BOTH, "--dry-run"), "--dry-run"),
        ((*BOTH, "--sim", "star:4"), "--sim"),
        (("--victim-class", "256", "--bulk-class", "0"), "'256' is no class"),
        (("--victim-class", "184", "--bulk-class", "service-level=16"), "'service-level=16'"),
    ],
)
def test_an_option_without_effect_is_refused(words: tuple[str, ...], refused: str) -> None:
    done = CliRunner().invoke(cli, ["check", "-w", "c1,c2", *words])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(refused)


def test_what_is_heeded_is_an_option_of_check() -> None:
    assert not _WITH_CLASSES - {parameter.name for parameter in check.params}
