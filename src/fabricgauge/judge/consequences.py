"""Find which verdict is a consequence of another one.

A report names causes first. It leaves out the remedies of consequences and drains no node for them.
A rule that alone knows its consequences has ``find_consequences`` in its module; the rest is here.
"""

from collections.abc import Collection, Iterator, Sequence

from fabricgauge.judge import rules
from fabricgauge.judge.interface import Context, Subject
from fabricgauge.judge.kept_rate import kept_rate, spares_small
from fabricgauge.judge.rules import asymmetry, errors, fraction, host_limited, lossy, stability
from fabricgauge.model.evidence import LostSegments
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import GONE, PROOFS, Outcome, Verdict

#: Rules that name a part which is slower than it should be.
_SLOW = ("outliers", "pairs", fraction.ID, stability.ID)


def consequences(context: Context, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the ids of verdicts that follow from another verdict, each with that verdict's id.

    Such verdicts judge figures of a wrong path, miss figures of a node or link that is gone, doubt
    figures because frames are lost, or count losses that follow from a rate limit. Imported logs
    have no consequences: each table is judged alone.
    """
    if context.run.imported:
        return {}
    losses = {
        verdict.id: cause.id
        for subject in context.subjects
        for verdict, cause in _find_rate_losses(subject, verdicts)
    }
    causes = [verdict for verdict in verdicts if verdict.id not in losses]
    ids = {**_find_fault_consequences(context.run, causes), **_find_stream_consequences(causes)}
    for rule in {verdict.rule: None for verdict in causes}:
        if find_consequences := getattr(rules.load_rule(rule), "find_consequences", None):
            ids |= find_consequences(context, causes)
    return {**ids, **losses}


def _find_stream_consequences(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return verdicts on a stream whose `fraction` verdict names what to do."""
    # A low direction makes both directions differ. A host's limit is part of why a stream is low.
    low = [
        verdict
        for verdict in verdicts
        if verdict.rule == fraction.ID
        and verdict.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)
        and verdict.remedy
    ]
    causes = {}
    for verdict in verdicts:
        names = set(verdict.about.names)
        for cause in low if verdict.remedy else ():
            as_bad = cause.outcome.rank <= verdict.outcome.rank < Outcome.PASS.rank
            if verdict.network != cause.network or verdict.remedy == cause.remedy or not as_bad:
                continue
            is_host = verdict.rule == host_limited.ID and verdict.about == cause.about
            has_same_ends = names == set(cause.about.names) and len(verdict.about.names) == 2
            if is_host or (verdict.rule == asymmetry.ID and has_same_ends):
                causes[verdict.id] = cause.id
    return causes


def _find_rate_losses(
    subject: Subject, verdicts: Sequence[Verdict]
) -> Iterator[tuple[Verdict, Verdict]]:
    """Yield losses that follow from a rate limit, each with the verdict on the slow part."""
    network_verdicts = [verdict for verdict in verdicts if verdict.network == subject.name]
    slow_parts = [
        verdict
        for verdict in network_verdicts
        if verdict.rule in _SLOW and verdict.outcome is Outcome.FAIL
    ]
    for verdict in network_verdicts:
        losses: Sequence[LostSegments] = ()
        if verdict.rule == lossy.ID and verdict.outcome is Outcome.FAIL:
            losses = lossy.losses_of_part(subject, verdict.about)
        elif verdict.rule == errors.ID and verdict.outcome is Outcome.WARN:
            losses = errors.lost_ways(subject)
        if losses and (cause := _find_slow_part(subject, losses, slow_parts)):
            yield verdict, cause


def _find_slow_part(
    subject: Subject, losses: Sequence[LostSegments], slow_parts: Sequence[Verdict]
) -> Verdict | None:
    for part in slow_parts:
        names = set(part.about.names)
        part_losses = [loss for loss in losses if not names or names & {loss.origin, loss.target}]
        directions = [(loss.origin, loss.target) for loss in part_losses]
        changes = part.rule == stability.ID and spares_small(subject, directions)
        if part_losses and (changes or kept_rate(subject, directions)):
            other_losses = [loss for loss in losses if loss not in part_losses]
            if not other_losses or _find_slow_part(
                subject,
                other_losses,
                [other_part for other_part in slow_parts if other_part is not part],
            ):
                return part
    return None


def _find_fault_consequences(run: Run, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return verdicts that follow from nodes and links that are gone, a wrong path, or losses."""
    measured = {launch.network for launch in run.launches if launch.completed}
    # If one of two nodes broke the launch, no others are left.
    broken = {
        launch.network
        for launch in run.launches
        if launch.ended.changes or (launch.ended.culprits and len(set(launch.nodes)) == 2)
    }
    wrong_paths = _find_first(verdicts, PROOFS, Outcome.INVALID)
    gone = _find_first(verdicts, GONE, Outcome.FAIL)
    unmeasured = {network: verdict for network, verdict in gone.items() if network not in measured}
    lossy_verdicts = _find_first(verdicts, (lossy.ID,), Outcome.FAIL)
    first_gone = next(iter(unmeasured.values()), None)
    causes = {}
    for verdict in verdicts:
        is_speed, cause = verdict.rule in rules.RULES_OF_SPEED, None
        if verdict.outcome is Outcome.PASS or not verdict.remedy:
            continue
        if is_speed or verdict.rule in PROOFS:
            cause = unmeasured.get(verdict.network)
        if is_speed:
            cause = wrong_paths.get(verdict.network) or cause
        if verdict.rule == "coverage":
            everything = first_gone if not verdict.network and not measured else None
            cause = unmeasured.get(verdict.network) or everything
        # A network that broke in mid-run has too few figures to decide.
        needs_figures = is_speed or verdict.rule == "completeness"
        if verdict.outcome is Outcome.INCONCLUSIVE and needs_figures and verdict.network in broken:
            cause = cause or gone.get(verdict.network)
        # With lost frames no figure is steady.
        if is_speed and verdict.outcome is not Outcome.FAIL:
            cause = cause or lossy_verdicts.get(verdict.network)
        if cause is not None:
            causes[verdict.id] = cause.id
    return causes


def _find_first(
    verdicts: Sequence[Verdict], ids: Collection[str], outcome: Outcome
) -> dict[str, Verdict]:
    """Return the first verdict of these rules with that outcome of each network."""
    first_verdicts: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict.rule in ids and verdict.outcome is outcome:
            first_verdicts.setdefault(verdict.network, verdict)
    return first_verdicts
