"""Check that every launch completed, and name the node or pair that broke it."""

from collections.abc import Iterator

from fabricgauge.judge.interface import Subject, describe_rest, judge_networks
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

ID = "launch"


@judge_networks(ID)
def judge(subject: Subject) -> Iterator[Verdict]:
    """Yield one failure for each node or pair; a warning once the rest was measured later."""
    culprits = (culprit for launch in subject.launches for culprit in launch.ended.culprits)
    for culprit in {(culprit.where, culprit.what): culprit for culprit in culprits}.values():
        complete = not subject.missing
        remainder = "the rest was measured later"
        if not complete:
            remainder = describe_rest(subject.run, culprit.network)
        nodes = culprit.nodes or (culprit.where,)
        yield Verdict(
            Outcome.WARN if complete else Outcome.FAIL, f"{culprit.what}; {remainder}",
            evidence=(*culprit.evidence, culprit.why), remedy=culprit.remedy,
            about=VerdictSubject("place", subject.name, nodes, culprit.check, place=culprit.where),
        )  # fmt: skip
