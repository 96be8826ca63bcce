"""Write the proof's report: Markdown, the answer first."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from gpu_proof.bench import Bench, Result
from gpu_proof.steps import NOT_SHOWN, Step

#: Letters of a cell; the step's own section has the whole sentence.
_MOST = 240
_SIGNS = {"done": "done", "failed": "**FAILED**", "skipped": "skipped"}


def write_report(
    path: Path, bench: Bench, results: Sequence[tuple[Step, Result]], problems: Sequence[str],
    why_no_driver: str, seconds: float, now: str,
) -> None:  # fmt: skip
    """Write the report, also of a proof that is not yet over."""
    count = {status: sum(result.status == status for _, result in results) for status in _SIGNS}
    title = "REHEARSAL without a GPU" if bench.rehearsal else "Proof on a GPU"
    if why_no_driver:
        title = "No proof: no GPU was measured"
    lines = [f"# {title}", ""]
    if bench.rehearsal:
        lines += [
            "A stand-in took the place of NVIDIA's driver, and its memory is the host's. **No"
            " figure below is a GPU's.** It shows that the steps run, what they write, and how"
            " long.",
            "",
        ]
    if why_no_driver:
        lines += [f"{why_no_driver}. The steps that need no GPU ran.", ""]
    lines += [
        f"- GPU: {bench.driver or 'none'}",
        f"- machine: {platform.node()}, {os.cpu_count()} processors, {platform.platform()}",
        f"- when: {now}, {seconds:.0f} s so far",
        f"- steps: {count['done']} done, {count['failed']} failed, {count['skipped']} skipped",
        *(f"- packed parts: {problem}" for problem in problems),
        "",
        "| step | outcome | seconds | |",
        "|---|---|---:|---|",
        *(f"| {step.title} | {_SIGNS[result.status]} | {result.seconds:.0f} |"
          f" {_cell(result.sentence)} |" for step, result in results),
        "",
    ]  # fmt: skip
    for step, result in results:
        lines += [
            f"## {step.title}",
            "",
            f"{_SIGNS[result.status]}: {result.sentence}",
            "",
            *result.lines,
            "",
        ]
    lines += ["## What one GPU cannot show", "", *(f"- {line}" for line in NOT_SHOWN), ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def _cell(text: str) -> str:
    line = text.replace("\n", " ")
    return (line if len(line) <= _MOST else f"{line[: _MOST - 1]}…").replace("|", "\\|")
