"""Services of fabrics: switched on, and off again only as far as they were off."""

import msgspec
import pytest
from tests.features.configure.sample import drafted, wish

from fabricgauge.features.configure.description import Services
from fabricgauge.features.configure.interface import checks, plan, questions
from fabricgauge.features.configure.job import Reply, Step


def step(name: str, active: str, enabled: str, *, opaconfig: bool = False) -> Step:
    """The one for a service of which systemctl says this; nothing for no reply."""
    job = drafted(wish("ip", services=(Services("c1", (name,)),)))
    said = {"is-active": active, "is-enabled": enabled}
    asked = (*questions(job), *checks(plan(job)))
    replies = {
        command: Reply(3, f"{word}\n") for command in asked
        if (word := said.get(command.argv[1], ""))
    }  # fmt: skip
    replies |= {one: Reply(0 if opaconfig else 127, "") for one in asked if "opaconfig" in
                one.argv[-1]}  # fmt: skip
    made = plan(msgspec.structs.replace(job, replies=replies))
    return next(one for one in made.steps if one.title.startswith(f"Run {name}"))


def undo(step: Step) -> list[str]:
    return [" ".join(command.argv) for command in step.undo]


@pytest.mark.parametrize(("active", "enabled", "off"), [
    ("active", "disabled", ["systemctl disable opensm"]),
    ("inactive", "enabled", ["systemctl stop opensm"]),
    ("inactive", "disabled", ["systemctl disable --now opensm"]),
    ("failed", "disabled", ["systemctl disable --now opensm"]),
])  # fmt: skip
def test_only_what_was_off_is_switched_off_again(active: str, enabled: str, off: list[str]) -> None:
    found = step("opensm", active, enabled)
    assert undo(found) == off and not found.undo_note and not found.fulfilled


@pytest.mark.parametrize(("active", "enabled", "off"), [
    ("active", "disabled", ["opaconfig -D opafm"]),
    ("inactive", "enabled", ["systemctl stop opafm"]),
    ("inactive", "disabled", ["systemctl stop opafm", "opaconfig -D opafm"]),
])  # fmt: skip
def test_opaconfig_disables_only_what_it_enabled(active: str, enabled: str, off: list[str]) -> None:
    assert undo(step("opafm", active, enabled, opaconfig=True)) == off


@pytest.mark.parametrize(("active", "enabled", "note"), [
    ("", "", "whether it ran and was enabled before is not known"),
    ("active", "", "whether it was enabled before is not known"),
    ("", "disabled", "whether it ran before is not known"),
    ("inactive", "enabled-runtime", "whether it was enabled before is not known"),
])  # fmt: skip
def test_what_nobody_knows_of_a_service_is_noted(active: str, enabled: str, note: str) -> None:
    assert step("opensm", active, enabled).undo_note == note
