"""What the second measurement, of single pairs, says of somebody whom the matrices name."""

import msgspec

from fabricgauge.judge import wording
from fabricgauge.judge.accused import Accused
from fabricgauge.judge.host_beside import waiting_beside
from fabricgauge.judge.host_case import HostCase
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.judge.subject import Subject
from fabricgauge.localise.confirm import Again, again, doubted, series_of_sides
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import Finding, PairAnalysis


class SecondLook(msgspec.Struct, frozen=True):
    """One finding beside what was seen again, and what the hosts did that accounts for that."""

    finding: Finding
    seen: Again | Skipped
    excuse: tuple[str, ...]

    @property
    def confirmed(self) -> bool:
        return isinstance(self.seen, Again) and self.seen.confirmed and not self.excuse

    @property
    def told(self) -> str:
        if isinstance(self.seen, Skipped):
            return f"not confirmed by a second measurement: {self.seen.reason}"
        latency = self.finding.quantity == "latency"
        figure, best = (wording.duration, "at best ") if latency else (wording.rate, "")
        verdict = "" if self.seen.confirmed else "not confirmed: "
        partners = wording.listed(self.seen.partners) or "each other"
        return (
            f"{verdict}measured again alone, with {partners}: {best}{figure(self.seen.own)}"
            f" beside {figure(self.seen.good)} of {self.seen.controls} good pairs"
        )


def second_look(context: Context, subject: Subject, one: Accused) -> SecondLook:
    """At the largest effect that is confirmed; if none is, at the largest."""
    looks = [_look(context, subject, finding) for finding in one.findings]
    return next((look for look in looks if look.confirmed), looks[0])


def _look(context: Context, subject: Subject, one: Finding) -> SecondLook:
    analysis = next(each for each in subject.pairs if one in each.findings)
    seen = again(analysis, one, subject.again, doubted(subject.pairs))
    return SecondLook(one, seen, _excuse(context, subject, analysis, one, seen))


def _excuse(
    context: Context, subject: Subject, analysis: PairAnalysis, one: Finding, seen: Again | Skipped
) -> tuple[str, ...]:
    """Two ranks that take turns on one processor delay even the fastest messages of a latency."""
    ceiling = subject.ceiling
    if isinstance(ceiling, Skipped) or isinstance(seen, Skipped) or not seen.confirmed:
        return ()
    sides = series_of_sides(analysis, one, subject.again, doubted(subject.pairs))
    own, good = (
        [
            HostCase(context, Stream(subject, ceiling, series, best))
            for series in side
            if (best := series.best(one.message_bytes)) is not None
        ]
        for side in sides
    )
    times_as_long = 1.0 + seen.effect
    left = 1.0 / times_as_long if one.quantity == "latency" else times_as_long
    return tuple(waiting_beside(own, good, left))
