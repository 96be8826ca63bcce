"""Write a configuration plan as a script for POSIX sh; pure.

No text of the plan is interpreted by the shell: each word is quoted, and a command's standard input
is quoted as well. Commands for a node are prefixed with the command that reaches it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources

from fabricgauge.features.configure.job import Configuration, Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host
from fabricgauge.report.visible import visible

_BARE = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_PROGRAM = re.compile(r"[A-Za-z0-9./_+-]+|[\"'].*", re.DOTALL)

#: POSIX.1-2017, Shell Command Language, 2.4.
_RESERVED = frozenset(
    ("case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
     "then", "until", "while")
)  # fmt: skip


def render(plan: Configuration, hosts: Mapping[str, Host]) -> str:
    """Return the script; ``hosts`` are by node, the head's under an empty name.

    Raises:
        KeyError: a node of the plan is no host.
        ValueError: a word holds a NUL, which no argv can carry.
    """
    steps = [(number, step) for number, step in enumerate(plan.steps, 1) if not step.fulfilled]
    parts = [
        "#!/bin/sh",
        f"# Plan of fabricgauge by {visible(plan.backend)}: {len(steps)} steps.",
        *(f"# {visible(note)}" for note in plan.notes),
        resources.files(__package__).joinpath("configuration_script.sh").read_text("utf-8"),
        *_function(
            "preconditions", steps, lambda step: [_holds(check, hosts) for check in step.before]
        ),
        *_function(
            "make", steps, lambda step: [_line(command, hosts) for command in step.commands]
        ),
        *_function("verified", steps, lambda step: [_holds(check, hosts) for check in step.verify]),
        *_function("undo", steps, lambda step: [_line(command, hosts) for command in step.undo]),
        "plan_apply() {",
        *(
            [f"    {_call(*step_number)}" for step_number in steps]
            or ["    plan_say 'no changes needed'"]
        ),
        "}",
        "",
        f"needed='{' '.join(_programs(steps, hosts))}'",
        'plan_main "$@"',
    ]
    return "\n".join(parts) + "\n"


def _function(
    name: str, steps: list[tuple[int, Step]], body: Callable[[Step], list[str]]
) -> Iterator[str]:
    """Yield a shell function of a step's number, with one case for each step that needs one."""
    yield f"plan_{name}() {{"
    yield "    case $1 in"
    for number, step in steps:
        lines = body(step)
        if lines:
            yield f"    {number})"
            yield from (f"        {line} || return 1" for line in lines)
            yield "        ;;"
    yield "    *) ;;"
    yield "    esac"
    yield "}"
    yield ""


def _call(number: int, step: Step) -> str:
    """Return a step's call: number, condition, consent, seconds to wait, title."""
    when = "follows" if step.follows else "check"
    if not step.commands:
        when = "look"
    elif not step.verify:
        when = "always"
    patience_s = max((check.patience_s for check in step.verify), default=0.0)
    words = (str(number), when, step.consent, f"{patience_s:.0f}", visible(step.title))
    return f"plan_step {' '.join(map(quoted, words))}"


def _programs(steps: list[tuple[int, Step]], hosts: Mapping[str, Host]) -> list[str]:
    """Return the programs that the script needs here; odd names fail when called."""
    names = {
        hosts[command.node].through(command.argv)[0]
        for _, step in steps
        for command in (*step.commands, *(check.command for check in step.verify))
    }
    return sorted(name for name in names if name.replace("-", "").replace("_", "").isalnum())


def _holds(check: Verification, hosts: Mapping[str, Host]) -> str:
    function = "plan_shows_no" if check.absent else "plan_shows"
    return _line(check.command, hosts, f"{function} {quoted(check.expected)} ")


def _line(command: Command, hosts: Mapping[str, Host], prefix: str = "") -> str:
    program, *arguments = hosts[command.node].through(command.argv)
    first = quoted(program)
    if not _PROGRAM.fullmatch(first) or program in _RESERVED:
        first = f'"{first}"'  # = would make it an assignment, and some words are reserved
    words = " ".join((first, *map(quoted, arguments)))
    fed = f"printf %s {quoted(command.stdin)} | " if command.stdin else ""
    return f"{fed}{prefix}{words}"


def quoted(text: str) -> str:
    """Return any text as one word of POSIX sh.

    Raises:
        ValueError: it holds a NUL, which no argv can carry.
    """
    if "\0" in text:
        raise ValueError(f"a word with a NUL cannot be handed to a program: {text!r:.80}")
    if _BARE.fullmatch(text):
        return text
    if not set(text) & set("'$`\\"):
        return f"'{text}'"
    return '"' + "".join(f"\\{sign}" if sign in '"$`\\' else sign for sign in text) + '"'
