"""Show a configuration plan to a reviewer: request, steps with commands, fulfilled steps."""

from collections.abc import Iterator

import msgspec

from fabricgauge.features.configure.job import Configuration, Step, Verification, WantedNetwork
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.sentences import brief, counted
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Setting, versioned

#: Most lines of a file in the review; JSON and script have all of them.
_SHOWN_LINES = 40


def document(plan: Configuration, _setting: Setting) -> doc.Report:
    """Show numbered steps with their commands, then fulfilled steps, then notes."""
    steps: list[doc.Block] = []
    fulfilled: list[str] = []
    for number, step in enumerate(plan.steps, 1):
        if step.fulfilled:
            fulfilled.append(f"{number}. {step.title}: {step.fulfilled}")
        else:
            consent = f"only with --consent {step.consent}" if step.consent else ""
            note = (("note" if step.undo else "undo", step.undo_note),) if step.undo_note else ()
            why = doc.FactList((("why", step.reason),))
            blocks = (why, doc.Lines(tuple(_lines(step))), doc.FactList(note))
            steps.append(doc.Fold(f"{number}. {step.title}", consent, blocks, open=True))
    counts = f"{counted(len(steps), 'step')} to run, {len(fulfilled)} already done"
    return doc.Report(
        word="PLAN", tone="skipped", title="fabricgauge configure", about="fabricgauge configure",
        headline=f"Plan by {plan.backend}: {counts}",
        sections=(
            doc.Section("wanted", "Requested", tuple(map(_network, plan.wanted)), nav="Requested"),
            doc.Section("steps", "To run", tuple(steps), nav="To run"),
            doc.Section("done", "Already done", (doc.Items(tuple(fulfilled)),), nav="Already done"),
            doc.Section("notes", "Notes", (doc.Items(plan.notes),), nav="Notes"),
        ),
        closing="Nothing is changed before this plan is applied.",
    )  # fmt: skip


def data(plan: Configuration, _setting: Setting) -> dict[str, object]:
    """Return everything; ``format`` and ``version`` identify the document."""
    return versioned("configuration", "1.0", **msgspec.structs.asdict(plan))


KIND = Kind("plan", document, data)


def _network(network: WantedNetwork) -> doc.Fold:
    rate = "" if isinstance(network.rate_bit_s, Skipped) else f", {link_rate(network.rate_bit_s)}"
    mtu = "" if isinstance(network.mtu_bytes, Skipped) else f", MTU {network.mtu_bytes}"
    port_lines = []
    for port in network.ports:
        ends = (("",) if network.plain else ()) + ((network.suffix,) if network.suffix else ())
        name = f"  named {', '.join(f'{port.node}{end}' for end in ends)}" if ends else ""
        port_lines.append(f"{port.where}  {port.cidr}{name}")
    title = f"{network.name}: {network.subnet}, {network.kind}{rate}{mtu}"
    return doc.Fold(title, "", (doc.Items(tuple(port_lines)),), open=True)


def _lines(step: Step) -> Iterator[str]:
    printed: set[str] = set()
    yield from _commands("run", step.commands, printed)
    for number, check in enumerate(step.verify):
        if number and check.command == step.verify[number - 1].command:
            yield f"       {_expected(check).strip()}"
        else:
            yield from _commands("check", (check.command,), printed, _expected(check))
    yield from _commands("undo", step.undo, printed)


def _commands(
    label: str, commands: tuple[Command, ...], printed: set[str], behind: str = ""
) -> Iterator[str]:
    """Yield commands, with their input unless it was ``printed`` already."""
    for number, command in enumerate(commands):
        words = brief(command.argv)
        node = command.node or "head"
        yield f"{label if number == 0 else '':6} {node}$ {words}{behind}"
        if command.stdin in printed:
            yield "         | the same text as above"
        elif command.stdin:
            lines = command.stdin.removesuffix("\n").split("\n")
            yield from (f"         | {line}" for line in lines[:_SHOWN_LINES])
            if len(lines) > _SHOWN_LINES:
                yield f"         | … {len(lines) - _SHOWN_LINES} more lines"
            printed.add(command.stdin)


def _expected(check: Verification) -> str:
    if not check.expected:
        return "   → ends with 0"
    shows = "does not show" if check.absent else "shows"
    within = f" within {check.patience_s:g} s" if check.patience_s else ""
    return f"   → {shows} {check.expected.strip()}{within}"
