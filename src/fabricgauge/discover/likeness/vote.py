"""One attribute of like nodes put to the vote; pure."""

from collections.abc import Mapping

from fabricgauge.model.likeness import Oddity, Split


def vote(attribute: str, ballots: Mapping[str, str]) -> tuple[str, list[Oddity]] | Split:
    """The value that more than half have, and an oddity for each other value.

    Two nodes that differ, or many with many values, have no majority: nobody is odd.
    """
    by_value: dict[str, list[str]] = {}
    for node, value in ballots.items():
        by_value.setdefault(value, []).append(node)
    ordered = sorted(by_value.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    usual, holders = ordered[0] if ordered else ("", [])
    if len(ordered) > 1 and 2 * len(holders) <= len(ballots):
        return Split(attribute, tuple((value, tuple(nodes)) for value, nodes in ordered))
    return usual, [
        Oddity(attribute, value, tuple(nodes), usual, len(holders)) for value, nodes in ordered[1:]
    ]
