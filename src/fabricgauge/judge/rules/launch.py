"""Did every launch come to its end, and if not, which node or pair broke it?"""

from collections.abc import Iterator

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject, what_was_left
from fabricgauge.model.verdict import Outcome, VerdictSubject

ID = "launch"


@of_networks(ID)
def judge(subject: Subject) -> Iterator[Said]:
    """One failure for each node or pair; a warning once everything was measured after all."""
    culprits = (one for launch in subject.launches for one in launch.ended.culprits)
    for one in {(found.where, found.what): found for found in culprits}.values():
        mended = not subject.missing
        nodes = one.nodes or (one.where,)
        end = "the rest was measured later" if mended else what_was_left(subject.run, one.network)
        yield Said(
            Outcome.WARN if mended else Outcome.FAIL, f"{one.what}; {end}",
            evidence=(*one.evidence, one.why), remedy=one.remedy,
            about=VerdictSubject("place", subject.name, nodes, one.check, place=one.where),
        )  # fmt: skip
