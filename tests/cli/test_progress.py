"""What a watcher in a pipe is told while cases are measured."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.cli.progress import ProgressBar


def test_a_reason_that_many_cases_share_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    (launch, *_) = planted.run().plan.launches
    bar, made = ProgressBar(), planted.sound_launches()[0].measurements[0]
    bar.planned((launch,))
    bar.launch(launch)
    for case, status, reason in (
        ("a", "skipped", "losses"), ("b", "skipped", "losses"), ("c", "failed", "no memory"),
    ):  # fmt: skip
        told = {"case": case, "status": status, "reason": reason}
        bar.case(msgspec.structs.replace(made, **told))
    bar.close()
    said = capsys.readouterr().err
    assert said.count("losses") == 1
    assert "a: skipped: losses" in said
    assert "c: failed: no memory" in said
