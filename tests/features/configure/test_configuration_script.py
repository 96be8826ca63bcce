"""The script of a plan: what it hands to programs, when it stops, what shellcheck says of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.configure.sample import BACKENDS, answered, drafted, network, wish

from fabricgauge.features.configure.configuration_script import quoted, render
from fabricgauge.features.configure.description import Export, Head, Image, Mount, Services
from fabricgauge.features.configure.interface import plan
from fabricgauge.features.configure.job import Configuration, Step, Verification
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host

HOSTILE = (
    "a b", "it's", '"', "$(touch hacked)", "`touch hacked`", "line\nbreak", "-rf", "\\", "*", "a=b",
    "", "$HOME", "#", "!x", "~", "\t", "é\u202e", "\\n", "a'\"$`\\b", ";", "&&",
)  # fmt: skip

RECORD = f"""#!{sys.executable} -IS
import os, sys
with open(os.environ["RECORDED"], "ab") as file:
    words = [*map(os.fsencode, sys.argv[1:]), sys.stdin.buffer.read()]
    file.write(b"".join(word + b"\\0" for word in words) + b"\\x1e")
"""

#: As sshd does: the words behind the host are joined and read by a shell.
SSH = '#!/bin/sh\nshift\nnode=$1\nshift\nexec sh -c "$*"\n'


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("script")
    for name, text in (("recorder", RECORD), ("ssh", SSH)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def hosts(here: Path) -> dict[str, Host]:
    ssh = str(here / "ssh")
    return {
        "": Host("", ()),
        **{node: Host(node, (ssh, "--", node), remote_shell=True) for node in ("c1", "c2")},
    }


def plan_of(*steps: Step) -> Configuration:
    return Configuration("ip", (), steps, ("note\nrm -rf /",))


def a_step(commands: tuple[Command, ...] = (), **more: object) -> Step:
    usual: dict[str, object] = {"verify": (), "undo": ()}
    return Step("title", "reason", commands, **{**usual, **more})  # type: ignore[arg-type]


def run(here: Path, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    file = here / "plan.sh"
    file.write_text(text, "utf-8", "surrogateescape")
    (here / "recorded").unlink(missing_ok=True)
    env = {**os.environ, "RECORDED": str(here / "recorded")}
    return subprocess.run(
        ["/bin/sh", file, *words], capture_output=True, text=True, env=env, cwd=here, check=False
    )


def recorded(here: Path) -> list[list[str]]:
    file = here / "recorded"
    calls = file.read_bytes().split(b"\x1e")[:-1] if file.exists() else []
    return [[os.fsdecode(word) for word in call.split(b"\0")[:-1]] for call in calls]


WORDS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\x1e"), max_size=12),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=6), WORDS, st.sampled_from(["", "c1"]))
def test_words_and_input_arrive_as_they_are(
    here: Path, words: list[str], stdin: str, node: str
) -> None:
    command = Command(node, (str(here / "recorder"), *words), stdin)
    done = run(here, render(plan_of(a_step((command,))), hosts(here)))
    assert done.returncode == 0, done.stderr
    assert recorded(here) == [[*words, stdin]]


def test_a_word_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quoted("a\0b")


def test_shells_own_words_are_programs_like_others(here: Path) -> None:
    for name in ("if", "a=b", "plan"):
        shutil.copy(here / "recorder", here / name)
        command = Command("", (name, "x"))
        path = f"PATH={here}:$PATH\nexport PATH\n"
        text = render(plan_of(a_step((command,))), hosts(here))
        done = run(here, text.replace("set -u\n", f"set -u\n{path}", 1))
        assert (done.returncode, recorded(here)) == (0, [["x", ""]]), done.stderr


def check(here: Path, expected: str, said: str, absent: bool = False) -> Verification:
    return Verification(Command("", ("printf", "%s", said)), expected, absent)


@pytest.mark.parametrize(
    ("expected", "said", "absent", "holds"),
    [
        ("x", "axb", False, True), ("x", "ab", False, False), ("x", "axb", True, False),
        ("x", "ab", True, True), ("*", "a", False, False), ("[a]", "a", False, False),
        ("end\n", "the end", False, True), ("a\nb", "a\nb", False, True), ("", "", False, True),
        ("$(x)", "$(x)", False, True), ("\\", "\\", False, True), ("'\"", "'\"", False, True),
    ],
)  # fmt: skip
def test_a_verification_means_here_what_it_means_elsewhere(
    here: Path, expected: str, said: str, absent: bool, holds: bool
) -> None:
    mark = Command("", (str(here / "recorder"), "made"))
    step = a_step((mark,), verify=(check(here, expected, said, absent),))
    done = run(here, render(plan_of(step), hosts(here)))
    assert done.returncode == (0 if holds else 1)
    assert recorded(here) == ([] if holds else [["made", ""]])  # what holds is not made again


def test_it_stops_at_the_first_step_that_does_not_hold_and_says_how_to_undo(here: Path) -> None:
    def mark(word: str) -> Command:
        return Command("", (str(here / "recorder"), word))

    steps = (
        a_step((mark("one"),), undo=(mark("back one"),)),
        a_step((mark("two"),), verify=(check(here, "x", "y"),), undo=(mark("back two"),)),
        a_step((mark("three"),)),
    )
    text = render(plan_of(*steps), hosts(here))
    done = run(here, text)
    assert done.returncode == 1
    assert recorded(here) == [["one", ""], ["two", ""]]
    assert "undo 2 1" in done.stderr
    assert run(here, text, "undo", "2", "1").returncode == 0
    assert recorded(here) == [["back two", ""], ["back one", ""]]


def test_consent_is_asked_for_by_name(here: Path) -> None:
    step = a_step((Command("", (str(here / "recorder"), "boot")),), consent="reboot")
    text = render(plan_of(step), hosts(here))
    done = run(here, text)
    assert done.returncode == 3 and "apply reboot" in done.stderr and recorded(here) == []
    assert run(here, text, "apply", "reboot").returncode == 0
    assert recorded(here) == [["boot", ""]]


def test_what_has_changed_since_the_plan_stops_a_step(here: Path) -> None:
    step = a_step((Command("", (str(here / "recorder"),)),), before=(check(here, "x", "y"),))
    done = run(here, render(plan_of(step), hosts(here)))
    assert done.returncode == 1 and "precondition" in done.stderr and recorded(here) == []


def test_a_program_that_is_missing_here_stops_everything(here: Path) -> None:
    step = a_step((Command("", ("nosuchprogram",)),))
    done = run(here, render(plan_of(step), hosts(here)))
    assert (done.returncode, done.stderr) == (3, "not installed here: nosuchprogram\n")


def lint(here: Path, text: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    file = here / "lint.sh"
    file.write_text(text)
    done = subprocess.run(["shellcheck", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def everything(hostile: str) -> dict[str, object]:
    return {
        "head": Head(("librdmacm",), "unlimited"),
        "image": Image(f"/img/{hostile}", "compute", ("openmpi",), "unlimited",
                       (Mount(f"head:/{hostile}", f"/{hostile}"),), ("rdma",)),
        "export": Export(f"/{hostile}", fsid=13),
        "services": (Services("c1", ("opafm",)), Services("", ("rdma",))),
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_backends_script_passes_shellcheck(here: Path, backend: str, known: bool) -> None:
    for hostile in ("plain", "a b'c\"d$(e)`f`\n-g\\"):
        job = drafted(wish(backend, network(lane_mode="1x40"), **everything(hostile)))
        made = plan(answered(job, {}) if known else job)
        lint(here, render(made, hosts(here)))


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_pass_shellcheck(here: Path, word: str) -> None:
    one, two = Command("", ("setit", word), word), Command("c1", ("setit", word, word))
    checks = (Verification(one, word), Verification(two, word, absent=True))
    steps = (a_step((one, two), verify=checks, undo=(two,), before=checks, consent=""),)
    lint(here, render(plan_of(*steps), hosts(here)))


def test_a_plan_without_steps_is_a_script_too(here: Path) -> None:
    text = render(plan_of(a_step(fulfilled="so")), hosts(here))
    lint(here, text)
    assert run(here, text).stdout == "no changes needed\n"


def test_an_interface_with_any_name_is_a_word(here: Path) -> None:
    names = {"c1": "$(x);'\"", "c2": "-a\\`b`"}
    made = plan(drafted(wish("ip", network(interfaces=names, rate_bit_s=Skipped(""))), ()))
    lint(here, render(made, hosts(here)))
