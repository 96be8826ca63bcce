"""A configuration plan as a page for a reviewer, and as JSON; pure."""

import shlex
from collections.abc import Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Configuration, Step, Verification, WantedNetwork
from fabricgauge.model.finding import Command
from fabricgauge.report.visible import visible
from fabricgauge.words.figures import link_rate

#: Of a long file a reviewer sees this many lines; JSON and script have it whole.
_SHOWN_LINES = 40


def render(plan: Configuration) -> str:
    """The page: what is wanted, numbered steps, what is so already, notes."""
    todo = [(number, step) for number, step in enumerate(plan.steps, 1) if not step.fulfilled]
    done = [(number, step) for number, step in enumerate(plan.steps, 1) if step.fulfilled]
    lines = [
        f"Plan by {visible(plan.backend)}: {_count(len(todo), 'step')} to make,"
        f" {len(done)} already so",
        "",
        *(line for wanted in plan.wanted for line in _wanted(wanted)),
    ]
    for number, step in todo:
        lines += ["", *_step(number, step)]
    if done:
        lines += ["", "Already so", *(f"  {_so(number, step)}" for number, step in done)]
    if plan.notes:
        lines += ["", "Notes", *(f"  - {visible(note)}" for note in plan.notes)]
    return "\n".join(lines) + "\n"


def document(plan: Configuration) -> str:
    """The plan as JSON, indented; ``format`` and ``version`` say how to read it."""
    whole = {"format": "fabricgauge-configuration", "version": "1.0", **msgspec.to_builtins(plan)}
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode() + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _wanted(wanted: WantedNetwork) -> Iterator[str]:
    rate = "" if isinstance(wanted.rate_bit_s, Skipped) else f", {link_rate(wanted.rate_bit_s)}"
    mtu = "" if isinstance(wanted.mtu_bytes, Skipped) else f", MTU {wanted.mtu_bytes}"
    yield f"{visible(wanted.name)}: {visible(wanted.subnet)}, {visible(wanted.kind)}{rate}{mtu}"
    for port in wanted.ports:
        ends = (("",) if wanted.plain else ()) + ((wanted.suffix,) if wanted.suffix else ())
        name = f"  named {', '.join(f'{port.node}{end}' for end in ends)}" if ends else ""
        yield f"  {visible(f'{port.node}:{port.interface}  {port.ip}/{port.prefix_length}{name}')}"


def _step(number: int, step: Step) -> Iterator[str]:
    consent = f"   [only with --consent {visible(step.consent)}]" if step.consent else ""
    yield f"{number:3}. {visible(step.title)}{consent}"
    yield f"     why    {visible(step.reason)}"
    shown: set[str] = set()
    yield from _commands("run", step.commands, shown)
    for number, check in enumerate(step.verify):
        if number and check.command == step.verify[number - 1].command:
            yield f"            {_expected(check).strip()}"
        else:
            yield from _commands("check", (check.command,), shown, _expected(check))
    if step.undo:
        yield from _commands("undo", step.undo, shown)
    if step.undo_note:
        yield f"     {'note' if step.undo else 'undo':6} {visible(step.undo_note)}"


def _commands(
    label: str, commands: tuple[Command, ...], shown: set[str], behind: str = ""
) -> Iterator[str]:
    """Commands, with what they read unless it is ``shown`` already."""
    for number, command in enumerate(commands):
        words = visible(shlex.join(command.argv))
        where = visible(command.node or "head")
        yield f"     {label if number == 0 else '':6} {where}$ {words}{behind}"
        if command.stdin in shown:
            yield "              | the same text as above"
        elif command.stdin:
            yield from _stdin(command.stdin)
            shown.add(command.stdin)


def _stdin(text: str) -> Iterator[str]:
    """What a command reads, line by line."""
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    for line in lines[:_SHOWN_LINES]:
        yield f"              | {visible(line)}"
    if len(lines) > _SHOWN_LINES:
        yield f"              | … {len(lines) - _SHOWN_LINES} more lines"


def _expected(check: Verification) -> str:
    if not check.expected:
        return "   → ends with 0"
    shows = "does not show" if check.absent else "shows"
    within = f" within {check.patience_s:g} s" if check.patience_s else ""
    return f"   → {shows} {visible(check.expected.strip())}{within}"


def _so(number: int, step: Step) -> str:
    return f"{number:3}. {visible(step.title)}: {visible(step.fulfilled)}"
