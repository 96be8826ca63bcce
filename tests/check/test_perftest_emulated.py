"""perftest between two virtual machines with RDMA in software: started, read, its path proved."""

import json
import shutil
from collections.abc import Callable

import pytest
from tests.check.commands import Checked

from fabricgauge.lab.state import LabState

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("ib_send_bw") is None, reason="perftest is not installed"),
]

#: What perftest says where it cannot tell how long a cycle of an emulated processor is, and where
#: its server was slower to listen than its client to connect: after shaking hands both go on alone.
_CHANCE = {"could not calibrate its clock": "clock", "Failed to handle RDMA CM event": "rejected"}


def measured(checked: Checked) -> dict[str, str]:
    """How each start ended, by its program; what chance decides on slow processors has a name."""
    lines = [json.loads(one) for one in (checked.path / "launches.jsonl").read_text().splitlines()]
    planned = json.loads((checked.path / "plan.json").read_text())["launches"]
    programs: dict[int, str] = {one["number"]: one["program"] for one in planned}
    ends = {programs[one["launch"]]: one["ended"] for one in lines}
    return {
        name: next(
            (word for said, word in _CHANCE.items() if said in one["message"]), one["status"]
        )
        for name, one in ends.items()
    }


def test_every_program_runs_over_roce_and_its_path_is_proved(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check("--lab", roce_lab.name, "--tool", "perftest")
    ends = measured(checked)
    assert len(ends) == 9, checked.text
    assert {*ends.values()} <= {"ok", *_CHANCE.values()}, checked.text
    assert [*ends.values()].count("ok") > 5, checked.text
    started = json.loads((checked.path / "raw" / "launch-01-1" / "command.json").read_text())
    assert "-n 5 " in " ".join(started["client"]["argv"]), "each size takes them seconds"
    # Five atomics are too little payload to prove their path by; all else does.
    assert checked.outcomes("path") <= {"PASS", "WARN"}
    (path,) = (one for one in checked.verdicts if one["rule"] == "path")
    assert path["figure"]["value"] > 0.95
    assert checked.outcomes("placement") == {"PASS"}
    assert checked.outcomes("fraction") == {"SKIPPED"}


@pytest.mark.parametrize(
    ("asked", "programs"), [("uc,path-mtu=1024,inline=0", 5), ("ud,path-mtu=512", 3)]
)
def test_unreliable_kinds_run_as_they_are_asked_for(
    asked: str, programs: int, roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check("--lab", roce_lab.name, "--tool", f"perftest:queue-pair={asked}")
    ends = measured(checked)
    assert len(ends) == programs, checked.text
    # What is unreliable may lose a message, which some of its programs wait for without end.
    assert "ok" in ends.values(), checked.text


def test_iwarp_is_connected_by_the_manager(
    iwarp_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check("--lab", iwarp_lab.name, "--tool", "perftest")
    ends = measured(checked)
    assert "ok" in ends.values(), checked.text
    assert "(iWARP)" in checked.text
