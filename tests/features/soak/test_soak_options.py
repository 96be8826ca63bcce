"""``check --soak`` refuses options that it would not heed."""

import pytest
from click.testing import CliRunner

from fabricgauge.cli.check import _WITH_CAMPAIGN, _WITH_SOAK, _refuse_beside_soak, check
from fabricgauge.cli.verbs import cli
from fabricgauge.model.errors import UsageError


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--soak", "5s", "--patterns", "latency"), "--patterns"),
        (("--soak", "5s", "--sizes", "8"), "--sizes"),
        (("--soak", "5s", "--launches", "2"), "--launches"),
        (("--soak", "5s", "--check-data"), "--check-data"),
        (("--soak", "5s", "--ppn", "2"), "--ppn"),
        (("--soak", "5s", "--against", "none"), "--against"),
        (("--soak", "5s", "--dry-run"), "--dry-run"),
        (("--soak", "5s", "--for", "nagios"), "--for"),
        (("--soak", "5s", "--sim", "star:4"), "--sim"),
        (("--soak-share", "0.5"), "--soak-share"),
        (("--answers",), "--answers"),
        (("--soak", "5s", "--echo-class", "184"), "--echo-class"),
    ],
)
def test_an_option_without_effect_is_refused_before_anything_starts(
    words: tuple[str, ...], refused: str
) -> None:
    done = CliRunner().invoke(cli, ["check", "-w", "c1,c2", *words])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(refused)
    assert "--soak" in str(done.exception)


@pytest.mark.parametrize("heeded", [_WITH_SOAK, _WITH_CAMPAIGN])
def test_what_is_heeded_is_an_option_of_check(heeded: frozenset[str]) -> None:
    assert not heeded - {parameter.name for parameter in check.params}


@pytest.mark.parametrize(
    "words",
    [
        ("--soak", "5s", "--soak-share", "0.5", "--answers", "c1", "c2", "--network", "net1"),
        ("c1", "c2"),
    ],
)
def test_what_is_heeded_is_accepted(words: tuple[str, ...]) -> None:
    ctx = check.make_context("check", list(words))
    _refuse_beside_soak(ctx, soaks="--soak" in words)
