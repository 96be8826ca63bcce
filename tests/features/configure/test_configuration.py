"""A plan as a page and as JSON."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from tests.docs.json_schemas import require_fit
from tests.features.configure.sample import drafted, network, wish

from fabricgauge.features.configure.content import KIND
from fabricgauge.features.configure.interface import plan
from fabricgauge.features.configure.job import Configuration, Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)


def test_a_step_is_shown_with_its_commands_checks_and_undoing() -> None:
    command = Command("c1", ("tee", "--", "/a b"), "one\ntwo\n")
    checks = (
        Verification(Command("", ("look",)), "x\n", patience_s=5.0),
        Verification(Command("", ("look",)), "y", absent=True),
        Verification(Command("", ("test",)), ""),
    )
    step = Step("Do it", "because", (command,), checks, (), "cannot be undone", "reboot")
    done = Step("Done", "because", (), (), (), fulfilled="seen")
    page = FORMATS["terminal"](Configuration("ip", (), (done, step), ("a note",)), Setting())
    assert page == (
        " PLAN  Plan by ip: 1 step to run, 1 already done\n"
        "\n"
        "To run\n"
        "  2. Do it: only with --consent reboot\n"
        "    why: because\n"
        "    run    c1$ tee -- '/a b'\n"
        "             | one\n"
        "             | two\n"
        "    check  head$ look   → shows x within 5 s\n"
        "           → does not show y\n"
        "    check  head$ test   → ends with 0\n"
        "    undo: cannot be undone\n"
        "\n"
        "Already done\n"
        "  1. Done: seen\n"
        "\n"
        "Notes\n"
        "  a note\n"
    )


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_text_of_a_plan_moves_the_terminal(one: str, two: str) -> None:
    command = Command(one or "c1", (one, two), two)
    step = Step(one, two, (command,), (Verification(command, two),), (command,), one, two)
    page = FORMATS["terminal"](Configuration(one, (), (step,), (two,)), Setting())
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not hidden & {unicodedata.category(sign) for sign in page.replace("\n", "")}
    page.encode()


def test_json_has_the_whole_plan() -> None:
    found = json.loads(FORMATS["json"](plan(drafted(wish("xcat", network()))), Setting()))
    require_fit("configuration", found)
    assert found["version"] == "1.0"
    commands = [command for step in found["steps"] for command in step["commands"]]
    assert any("nicips.enp97s0=10.10.40.21" in command["argv"] for command in commands)
    assert found["wanted"][0]["ports"][0]["interface"] == "enp97s0"
