"""Verdicts of many tables are folded one table at a time, as if all were looked at together."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.tables import TableVerdicts
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

CALM = (Outcome.PASS, Outcome.SKIPPED)
Judged = tuple[TableVerdict, list[Verdict]]


def table(number: int, outcome: Outcome, *, decides: bool) -> TableVerdict:
    place = ("osu.out", number, "osu", "osu_bw", "net1", ())
    return TableVerdict(outcome, *place, decides, "fraction", "", "", "", None)


verdicts = st.builds(
    lambda outcome, rule, kind, network, summary, evidence: Verdict(
        outcome, summary, None, None, evidence, about=VerdictSubject(kind, network), rule=rule,
        network=network, id=f"{rule}/{network}",
    ),
    st.sampled_from(Outcome), st.sampled_from(["fraction", "floor"]),
    st.sampled_from(["network", "stream"]), st.sampled_from(["net1", "net2"]),
    st.sampled_from("abc"), st.sampled_from([(), ("line 3",)]),
)  # fmt: skip
tables = st.lists(
    st.tuples(st.sampled_from(Outcome), st.booleans(), st.lists(verdicts, max_size=4)), max_size=4
)


def join_together(judged: Sequence[Judged]) -> Iterator[tuple[str, str, Outcome, str]]:
    """Yield rule, network, outcome and summary, from all tables at once."""
    calm: dict[tuple[str, str], Verdict] = {}
    loud = set()
    decided = any(table.decided for table, _ in judged)
    for table, table_verdicts in judged:
        for verdict in table_verdicts:
            key = verdict.rule, verdict.network
            # Beside a table that decides, both directions of another may still be low.
            is_calm = verdict.rule == "fraction" and verdict.outcome is not Outcome.WARN
            if decided and not table.decides and is_calm:
                continue
            if verdict.about.kind == "network" and verdict.outcome in CALM:
                calm[key] = max(calm.get(key, verdict), verdict, key=rank)
                continue
            if verdict.about.kind == "network":
                loud.add(key)
            yield (*key, verdict.outcome, verdict.summary)
    for key, verdict in calm.items():
        if key not in loud:
            yield (*key, verdict.outcome, verdict.summary)


def rank(verdict: Verdict) -> tuple[bool, bool]:
    is_passed = verdict.outcome is Outcome.PASS
    return not is_passed and bool(verdict.evidence), is_passed


@given(tables)
def test_tables_are_joined_as_if_all_were_known(
    drawn: list[tuple[Outcome, bool, list[Verdict]]],
) -> None:
    judged = [
        (table(number, outcome, decides=decides), table_verdicts)
        for number, (outcome, decides, table_verdicts) in enumerate(drawn, 1)
    ]
    joined = TableVerdicts()
    for table_verdict, table_verdicts in judged:
        joined.add(table_verdict, table_verdicts)
    found = [(v.rule, v.network, v.outcome, v.summary) for v in joined.join()]
    assert found == list(join_together(judged))
    assert joined.tables == [table_verdict for table_verdict, _ in judged]
