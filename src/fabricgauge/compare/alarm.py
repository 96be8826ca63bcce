"""When B is called worse than A.

Among many sizes some differ by chance, and what differs from launch to launch is in no
interval of a single launch. So one size beyond the tolerance is not enough. Either there are
more worse sizes than better ones, or more of them in a row, than tossing coins explains:
that holds however wide the noise is, if it is as likely to favour one side as the other. Or
some size is so far beyond that Holm's correction for all sizes leaves it standing.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from fabricgauge.compare.significance import FAMILY_ERROR
from fabricgauge.model.comparison import Basis, Difference, Summary
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity

#: In a single launch one size in so many may have been disturbed as a whole.
SIZES_PER_DISTURBANCE = 12


def regression(
    differences: Sequence[Difference],
    summary: Summary,
    basis: Basis,
    quantity: Quantity,
    tolerance: float,
    pairs: int,
) -> str:
    """The reason for an alarm over one of ``pairs`` pairs of curves, empty if there is none."""
    if basis == "means":
        return _by_median(summary, quantity, tolerance) or _by_run(differences, summary)
    in_a_row = longest_run(differences)
    if chance_of_more(summary.worse, summary.better) <= FAMILY_ERROR / pairs:
        return (
            f"beyond the tolerance and all intervals B is worse at {summary.worse} sizes and"
            f" better at {summary.better}"
        )
    if chance_of_run(in_a_row, summary.sizes) <= FAMILY_ERROR / pairs:
        return f"beyond the tolerance and all intervals B is worse at {in_a_row} sizes in a row"
    if summary.corrected >= _least_corrected(summary.sizes, basis):
        sizes = "one size" if summary.corrected == 1 else f"{summary.corrected} sizes"
        return f"B is worse beyond the tolerance at {sizes} even after Holm's correction for all"
    return ""


def _least_corrected(sizes: int, basis: Basis) -> int:
    if basis == "launches":
        return 1
    return min(sizes, 1 + math.ceil(sizes / SIZES_PER_DISTURBANCE))


def _by_median(summary: Summary, quantity: Quantity, tolerance: float) -> str:
    loss = summary.median_change if quantity in LESS_IS_BETTER else -summary.median_change
    if loss <= tolerance:
        return ""
    return "by the bare figures the median over the sizes is worse by more than the tolerance"


#: Sizes next to each other, worse all of them, that are no disturbed sample or two.
LEAST_RUN = 4


def _by_run(differences: Sequence[Difference], summary: Summary) -> str:
    """Large messages can be worse, all of them, while most sizes of a sweep are small."""
    in_a_row = longest_run(differences)
    if in_a_row < LEAST_RUN or summary.better >= summary.worse:
        return ""
    return f"by the bare figures B is worse beyond the tolerance at {in_a_row} sizes in a row"


def longest_run(differences: Sequence[Difference]) -> int:
    """How many sizes next to each other are worse, at most."""
    runs = groupby(one.standing for one in differences)
    return max((len(list(run)) for standing, run in runs if standing == "worse"), default=0)


def chance_of_more(worse: int, better: int) -> float:
    """That of as many tosses at least ``worse`` fall on that side (sign test)."""
    tosses = worse + better
    ways = term = math.comb(tosses, worse)
    for number in range(worse, tosses):
        term = term * (tosses - number) // (number + 1)
        ways += term
    return ways / (1 << tosses)


def chance_of_run(length: int, tosses: int) -> float:
    """At most that of ``length`` alike in a row: once for each place where they may begin."""
    return min(1.0, (tosses - length + 1) / (1 << length))
