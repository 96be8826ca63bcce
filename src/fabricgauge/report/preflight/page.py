"""What a preflight came to as one HTML file that opens offline and runs no script at all."""

from collections.abc import Mapping

from fabricgauge.model.finding import THEREFORE, Diagnosis, Finding, Severity
from fabricgauge.report.html import document
from fabricgauge.report.interface import Setting
from fabricgauge.report.preflight import words

#: The page's word for the worst that was found, and which of its colours it has (style.css).
HEADLINES: Mapping[Severity, tuple[str, str]] = {
    Severity.FAIL: ("FAIL", "fail"),
    Severity.WARN: ("WARN", "warn"),
    Severity.NOTE: ("NOTE", "skipped"),
}

MEANINGS: Mapping[Severity, str] = {
    Severity.FAIL: "breaks the network or its figures",
    Severity.WARN: "may break the network or its figures",
    Severity.NOTE: "is worth knowing",
}


def render(diagnosis: Diagnosis, _setting: Setting) -> str:
    """Findings, the worst first; what follows from each; what was sound; what was not looked at."""
    word, style = _headline(diagnosis)
    return document.filled(
        "preflight.html.j2", [], "fabricgauge.report.preflight",
        diagnosis=diagnosis, word=word, style_of_word=style, words=words, severities=_grouped,
        headlines=HEADLINES, meanings=MEANINGS, evidence=evidence, follows=follows,
        elsewhere=_told_elsewhere(diagnosis),
    )  # fmt: skip


def evidence(finding: Finding) -> list[str]:
    """Its own lines."""
    return [line for line in finding.evidence if not line.startswith(THEREFORE)]


def follows(finding: Finding) -> list[str]:
    """What follows from it: findings of other checks, each in a line."""
    lines = [line for line in finding.evidence if line.startswith(THEREFORE)]
    return [line.removeprefix(THEREFORE) for line in lines]


def _headline(diagnosis: Diagnosis) -> tuple[str, str]:
    if all(one.skipped for one in diagnosis.checked):
        return "NOT CHECKED", "inconclusive"
    findings = diagnosis.findings
    return HEADLINES[findings[0].severity] if findings else ("SOUND", "pass")


def _grouped(diagnosis: Diagnosis) -> list[tuple[Severity, list[Finding]]]:
    every = [(one, [f for f in diagnosis.findings if f.severity is one]) for one in Severity]
    return [(severity, found) for severity, found in every if found]


def _told_elsewhere(diagnosis: Diagnosis) -> set[str]:
    """Checks whose findings follow from others': they found something, though none is theirs."""
    return {line.partition(":")[0] for one in diagnosis.findings for line in follows(one)}
