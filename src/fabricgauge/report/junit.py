"""A judged run as JUnit XML: one test case per verdict, for CI systems.

FAIL is a failure; INVALID and INCONCLUSIVE are errors, since nothing was decided; WARN passes
with its words in ``system-out``. A run that decided nothing has a test case that says so as
an error: a CI system must not read an empty suite as a pass.
"""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.conclusion import headline, is_simulated
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.networks import named
from fabricgauge.report.quantities import of_unit
from fabricgauge.report.visible import visible

#: XML 1.0 has no way to write these, not even as references; ``visible`` leaves them.
_UNWRITABLE = re.compile("[\ufffe\uffff]")

_ELEMENT = {
    Outcome.FAIL: "failure",
    Outcome.INVALID: "error",
    Outcome.INCONCLUSIVE: "error",
    Outcome.SKIPPED: "skipped",
}


def render(judged: Judged, _setting: Setting) -> str:
    """One ``testsuite`` in ``testsuites``, with the run's identity as properties."""
    outcomes = [verdict.outcome for verdict in judged.verdicts]
    undecided = judged.overall is Outcome.SKIPPED
    counts = Counter(_ELEMENT.get(outcome, "passed") for outcome in outcomes)
    numbers = {
        "tests": str(len(outcomes) + undecided), "failures": str(counts["failure"]),
        "errors": str(counts["error"] + undecided), "skipped": str(counts["skipped"]),
    }  # fmt: skip
    root = ET.Element("testsuites", {"name": "fabricgauge", **numbers})
    suite = ET.SubElement(root, "testsuite", _of_suite(judged, numbers))
    _add_properties(suite, judged)
    if undecided:
        _add_undecided(suite, judged)
    seen: Counter[tuple[str, str]] = Counter()
    for verdict in judged.verdicts:
        _add_case(suite, verdict, seen)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _of_suite(judged: Judged, numbers: dict[str, str]) -> dict[str, str]:
    wall_s = sum(launch.ended.wall_s for launch in judged.run.launches)
    return {
        "name": f"fabricgauge {_text(judged.run.identity)}", **numbers, "time": f"{wall_s:.3f}",
        "timestamp": _text(judged.run.started_utc.removesuffix("Z")),
    }  # fmt: skip


def _add_properties(suite: ET.Element, judged: Judged) -> None:
    run = judged.run
    said = {
        "run": run.identity, "overall": judged.overall.value, "headline": headline(judged),
        "started_utc": run.started_utc, "judged_utc": judged.judged_utc,
        "rules_version": judged.rules_version, "command": " ".join(run.command),
        "virtual": str(run.fabric.virtual).lower(),
        "simulated": str(is_simulated(judged)).lower(),
        "nodes": " ".join(node.name for node in run.fabric.nodes),
        "fabricgauge": run.environment.get("fabricgauge", ""),
        "MPI": run.environment.get("MPI", ""),
    }  # fmt: skip
    properties = ET.SubElement(suite, "properties")
    for name, value in said.items():
        ET.SubElement(properties, "property", {"name": name, "value": _text(value)})


def _add_undecided(suite: ET.Element, judged: Judged) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": "fabricgauge", "name": "overall"})
    ET.SubElement(case, "error", {"message": _text(headline(judged)), "type": "SKIPPED"})


def _add_case(suite: ET.Element, verdict: Verdict, seen: "Counter[tuple[str, str]]") -> None:
    place = f"fabricgauge.{_text(verdict.network and named(verdict.network)) or 'run'}"
    name = f"{verdict.rule}: {_text(verdict.subject)}"
    seen[place, name] += 1
    again = f" ({seen[place, name]})" if seen[place, name] > 1 else ""
    case = ET.SubElement(suite, "testcase", {"classname": place, "name": name + again, "time": "0"})
    told = "\n".join(map(_text, _sentences(verdict)))
    element = _ELEMENT.get(verdict.outcome)
    if element is None:
        ET.SubElement(case, "system-out").text = told
        return
    message = {"message": _text(verdict.summary)}
    kind = {} if element == "skipped" else {"type": verdict.outcome.value}
    ET.SubElement(case, element, {**message, **kind}).text = told


def _sentences(verdict: Verdict) -> list[str]:
    lines = [f"{verdict.outcome.value}: {verdict.summary}"]
    if verdict.figure:
        figure = verdict.figure
        lines.append(f"figure: {of_unit(figure.value, figure.unit)}, {figure.what}")
    if verdict.threshold:
        limit = verdict.threshold
        value = of_unit(limit.value, limit.unit)
        lines.append(f"threshold: {limit.relation} {value} ({limit.origin})")
    lines += [f"evidence: {sentence}" for sentence in verdict.evidence]
    lines += [f"likely cause: {verdict.cause}"] if verdict.cause else []
    return lines + ([f"next step: {verdict.remedy}"] if verdict.remedy else [])


def _text(text: str) -> str:
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
