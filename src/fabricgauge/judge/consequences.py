"""Which verdict is a consequence of which: the one place that decides it.

A report names causes first. It leaves out the remedies of consequences, and drains no node for one.
"""

from collections.abc import Iterator, Sequence

from fabricgauge.judge.kept_rate import kept_rate, spares_small
from fabricgauge.judge.rules import (
    asymmetry,
    errors,
    fraction,
    host_limited,
    lossy,
    outliers,
    pairs,
    stability,
)
from fabricgauge.judge.subject import Context, Subject
from fabricgauge.model.evidence import Lost
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import GONE, PROOFS, RULES_OF_SPEED, Outcome, Verdict

#: Rules that name a part which is slower than it should be.
_SLOW = (outliers.ID, pairs.ID, fraction.ID, stability.ID)


def consequences(context: Context, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the ids of verdicts that follow from another one, each with the id of that one.

    They judge figures of another path than the one that was meant, miss what could not be measured
    where a node or link is gone, doubt figures where frames are lost, or count losses that a rate
    limit makes. Others' logs are judged table by table: what one holds says nothing of another.
    """
    if context.run.imported:
        return {}
    of_rates = {
        one.id: cause.id
        for subject in context.subjects
        for one, cause in _losses_of_rates(subject, verdicts)
    }
    causes = [one for one in verdicts if one.id not in of_rates]
    return {**_of_faults(context.run, causes), **_of_streams(causes), **of_rates}


def _of_streams(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Other rules' words on a stream whose own verdict names what to do.

    One direction that is low makes two that differ. What a host does to a stream is part of why
    that stream is low.
    """
    low = [
        one
        for one in verdicts
        if one.rule == fraction.ID
        and one.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)
        and one.remedy
    ]
    found = {}
    for one in verdicts:
        if one.outcome is Outcome.PASS or not one.remedy or one.outcome is Outcome.SKIPPED:
            continue
        for cause in low:
            as_bad = cause.outcome.rank <= one.outcome.rank
            same = one.network == cause.network and one.remedy != cause.remedy and as_bad
            if one.rule == host_limited.ID and same and one.about == cause.about:
                found[one.id] = cause.id
            ends = set(one.about.names) == set(cause.about.names) and len(one.about.names) == 2
            if one.rule == asymmetry.ID and same and ends:
                found[one.id] = cause.id
    return found


def _losses_of_rates(
    subject: Subject, verdicts: Sequence[Verdict]
) -> Iterator[tuple[Verdict, Verdict]]:
    """Losses on ways that keep to a rate, each with the slow part that they follow from."""
    own = [one for one in verdicts if one.network == subject.name]
    slow = [one for one in own if one.rule in _SLOW and one.outcome is Outcome.FAIL]
    for one in own:
        ways: Sequence[Lost]
        if one.rule == lossy.ID and one.outcome is Outcome.FAIL:
            ways = lossy.ways_of(subject, one.about)
        elif one.rule == errors.ID and one.outcome is Outcome.WARN:
            ways = errors.lost_ways(subject)
        else:
            continue
        if cause := _slow_part(subject, ways, slow):
            yield one, cause


def _slow_part(subject: Subject, ways: Sequence[Lost], slow: Sequence[Verdict]) -> Verdict | None:
    """The slow part that all these ways belong to; None unless they keep to its rate or rates."""
    for one in slow:
        names = set(one.about.names)
        own = [way for way in ways if not names or names & {way.origin, way.target}]
        ends = [(way.origin, way.target) for way in own]
        changes = one.rule == stability.ID and spares_small(subject, ends)
        if own and (changes or kept_rate(subject, ends)):
            left = [way for way in ways if way not in own]
            if not left or _slow_part(subject, left, [two for two in slow if two is not one]):
                return one
    return None


def _of_faults(run: Run, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """What follows from nodes and links that are gone, a wrong path, or losses."""
    measured = {launch.network for launch in run.launches if launch.completed}
    broken = {one.network for one in run.launches if one.ended.changes or _pair_broke(one)}
    wrong = _by_network(one for one in verdicts if one.rule in PROOFS and _is(one, Outcome.INVALID))
    dead = _by_network(one for one in verdicts if one.rule in GONE and _fails(one))
    unmeasured = {network: one for network, one in dead.items() if network not in measured}
    lossy_ways = _by_network(one for one in verdicts if one.rule == lossy.ID and _fails(one))
    first_gone = next(iter(unmeasured.values()), None)
    found = {}
    for one in verdicts:
        speed, cause = one.rule in RULES_OF_SPEED, None
        if one.outcome is Outcome.PASS or not one.remedy:
            continue
        if speed or one.rule in PROOFS:
            cause = unmeasured.get(one.network)
        if speed:
            cause = wrong.get(one.network) or cause
        if one.rule == "coverage":
            everything = first_gone if not one.network and not measured else None
            cause = unmeasured.get(one.network) or everything
        # What broke while it was measured left some figures, and too few to decide the others.
        if _is(one, Outcome.INCONCLUSIVE) and (speed or one.rule == "completeness"):
            cause = cause or (dead.get(one.network) if one.network in broken else None)
        # Where frames are lost nothing is steady.
        if speed and not _fails(one):
            cause = cause or lossy_ways.get(one.network)
        if cause is not None:
            found[one.id] = cause.id
    return found


def _by_network(verdicts: Iterator[Verdict]) -> dict[str, Verdict]:
    """The first verdict of each network."""
    found: dict[str, Verdict] = {}
    for one in verdicts:
        found.setdefault(one.network, one)
    return found


def _is(one: Verdict, outcome: Outcome) -> bool:
    return one.outcome is outcome


def _fails(one: Verdict) -> bool:
    return one.outcome is Outcome.FAIL


def _pair_broke(launch: Launch) -> bool:
    """Check whether one of two nodes broke the launch: then no others are left."""
    return bool(launch.ended.culprits) and len(set(launch.nodes)) == 2
