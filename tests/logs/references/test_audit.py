"""Our own audit: the rules come to the outcomes that each published figure deserves."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.check.conclude import conclude
from fabricgauge.check.import_logs import Source, import_logs
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.references.interface import names, reference
from fabricgauge.model.progress import SILENT
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

AUDITED = [name for name in names() if (one := reference(name)).expected and one.curves]


@pytest.mark.parametrize("name", AUDITED)
def test_the_rules_come_to_the_audit_s_outcome(tmp_path: Path, name: str) -> None:
    known = reference(name)
    assert known.expected is not None
    network = stated_network(known.network) if known.network else None
    directory = RunDirectory.create(tmp_path)
    run = import_logs([Source(name, known.curves, network)], directory, (), SILENT)
    assert run == msgspec.structs.replace(load(directory), complete=True)
    judged = conclude(run, DEFAULTS)
    if known.expected.outcome is not None:
        assert judged.overall is known.expected.outcome, judged.verdicts
    for rule, outcome in known.expected.rules.items():
        assert outcome in {one.outcome for one in judged.verdicts if one.rule == rule}, rule


def test_the_audit_marks_what_is_not_what_it_claims() -> None:
    marked = {
        name for name in AUDITED if getattr(reference(name).expected, "outcome", None) is not None
        and reference(name).audit.startswith(Outcome.INVALID.value)
    }  # fmt: skip
    assert {"guide-40gbe-imb-pingpong", "guide-omni-path-imb-pingpong"} <= marked
