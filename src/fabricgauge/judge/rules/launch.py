"""Did every launch come to its end, and if not, which node or pair broke it?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject, missing, what_was_left
from fabricgauge.model.finding import Finding
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

ID = "launch"
TITLE = "No node or pair breaks a launch"


def judge(context: Context) -> tuple[Verdict, ...]:
    """One failure for each node or pair; a warning once everything was measured after all."""
    return tuple(
        _verdict(context, subject, one)
        for subject in context.subjects
        for one in {
            (found.where, found.what): found
            for launch in subject.launches
            for found in launch.ended.culprits
        }.values()
    )


def _verdict(context: Context, subject: Subject, one: Finding) -> Verdict:
    mended = not missing(subject)
    about = VerdictSubject(
        "place", subject.name, one.nodes or (one.where,), one.check, place=one.where
    )
    left = what_was_left(context.run, one.network)
    end = "the rest was measured later" if mended else left
    return verdict_on(
        ID, Outcome.WARN if mended else Outcome.FAIL, about, f"{one.what}; {end}",
        evidence=(*one.evidence, one.why), remedy=one.remedy,
    )  # fmt: skip
