"""A line for each bad node that takes it out of Slurm: dead nodes, and those named as slow."""

import re

from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.report.content.fabric_words import compared, kind, told_apart, unsure
from fabricgauge.words.figures import size

#: slurm.conf(5): node names are host names. What else is in a name could mean something to Slurm
#: (brackets and commas list nodes) or to a shell.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
#: Slurm's lists show the beginning of a reason.
LONGEST_REASON = 80
_WAYS = {"node": "", "sender": " when it sends", "receiver": " when it receives"}


def drained(judged: Judged) -> doc.Section:
    """The lines, of which none is for a node that is only suspected."""
    lines = doc.Lines(tuple(_line(node, why) for node, why in bad_nodes(judged).items()))
    return doc.Section("scheduler", "For the scheduler", (lines,), nav="For the scheduler")


def bad_nodes(judged: Judged) -> dict[str, str]:
    """Nodes with the reason, each once: what could not connect comes first."""
    nodes = {one.name for one in judged.run.fabric.nodes}
    nodes |= {one.name for one in judged.run.fabric.unreached}
    found: dict[str, str] = {}
    for one in told_apart(judged):
        if len(one.about.names) == 1 and one.about.names[0] in nodes:
            why = one.summary.partition(";")[0]
            found.setdefault(one.about.names[0], f"{one.network} {why}")
    doubted = unsure(judged)
    for analysis in judged.fabric.analyses:
        for slow in analysis.findings:
            if slow.part in _WAYS and kind(analysis, slow, doubted) == "FAULT":
                what = f"{slow.quantity} at {size(slow.message_bytes)} {compared(slow.effect)}"
                why = f"{analysis.matrix.network} {what}{_WAYS[slow.part]}"
                found.setdefault(slow.names[0], why)
    return found


def _line(node: str, why: str) -> str:
    """Nothing in the reason can end its quotes: only plain signs are kept."""
    if not _NAME.fullmatch(node):
        return f"# no line for {node}: Slurm has no node of such a name"
    plain = " ".join(re.sub(r"[^A-Za-z0-9 .,:%/_+-]", " ", f"fabricgauge: {why}").split())
    reason = plain[:LONGEST_REASON].rstrip()
    return f'scontrol update nodename={node} state=drain reason="{reason}"'
