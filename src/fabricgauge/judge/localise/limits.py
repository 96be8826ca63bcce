"""The localiser's thresholds: every number that decides what is called a fault.

Unless stated otherwise, a value comes from trials on planted faults. ``benchmarks/ablation.py``
shows the worth of each value, ``benchmarks/fault_detection.py`` the rates of all together.
Numbers that follow from a distribution are in ``slowness.py`` and ``typical.py``.
"""

from fabricgauge.model.pairs import Quantity

#: The least effect of a fault: the share of bandwidth lost, or of latency added.
FAULT: dict[Quantity, float] = {"bandwidth": 0.10, "latency": 0.05}
#: A part is named at this false-discovery rate.
RATE = 0.01

#: A fault as large as the limit measures below it half of the time, and its link may otherwise be
#: a little better than the others. It can still be named if its effect plus this many standard
#: errors reaches the limit.
REACH = 4.0
#: An effect below this share of the limit is never named.
LEAST = 0.5

#: Clocks, rounding and protocol leave at least this scatter, even where a simulator repeats itself.
FLOOR = 0.002

#: An effect is seen again where at least this share of it is seen: in a second measurement, a
#: pass, the reverse direction, a node of a group, a partner (benchmarks/fault_detection.py).
SHOWN = 0.5
#: The largest chance that a recheck names any healthy part of a matrix (Bonferroni).
CHANCE = 0.002
#: A recheck needs this many good pairs: fewer do not show how far good pairs differ.
FEWEST_GOOD = 3
#: Three nodes have three pairs.
FEWEST_NODES = 3
#: A node of three is suspected after a single pass if its latencies are this multiple of the third:
#: other processors of the ranks make a latency up to twice as long.
LATE = 3.0

#: Good partners that measure with each suspect. One may prove slow itself; a third one decides.
PARTNERS = 3
#: The end of a slow pair is named only if it has at least this many other partners.
FEWEST_PARTNERS = 2
#: This many good nodes measure with each other. Their pairs are the control pairs.
CONTROLS = 5
#: A recheck measures at most this many suspects, the worst: a check spends only minutes on it.
MOST_SUSPECTS = 16
#: This many nodes of a suspect group are measured again in its place.
NODES_OF_GROUP = 2
#: Quantities and message sizes of a recheck; those of a finding are added.
RECHECKED: tuple[tuple[Quantity, int], ...] = (("latency", 8), ("bandwidth", 1 << 20))
#: Launches of a recheck where latencies were measured in one pass only. A pair's latency differs
#: between launches, because its ranks get other processors.
LATENCY_LAUNCHES = 2

# Nodes and their directions.

#: A slow end is slow with at least three quarters of its partners.
QUARTER = 0.25
#: A slow end is slow with its best partners as well: this share of them, the best one of a few.
#: These are slower than the usual node's best by half of the effect, less this many times what
#: nodes' best pairs scatter by.
BEST_SHARE, BEST_SCATTER = 0.05, 2.0
#: Paths differ in length by as much as these quantiles of the latencies. A node whose excess is
#: smaller, and shared by more than ``QUARTER`` of the nodes, has longer paths and is not at fault.
PATH_LENGTHS = 0.05, 0.95
#: A slow end that is not named is suspected at this p-value.
MAYBE_SLOW = 0.02
#: With more nodes than this, all ends that stand out in one round are named at once, to save time.
ONE_BY_ONE = 512
#: If fewer than one node in this many is slow, the median over all pairs is a healthy pair's.
MANY_SLOW = 16
#: With fewer levels than this, their scatter is not estimated. They are compared with the value a
#: third of the way up from the fastest, not with the median.
MANY = 16
#: If one node is part of this share of the scattered slow pairs, it is suspected instead of them.
COMMON_NODE = 0.9

# Single pairs.

#: A pair is looked at more closely if it is slow by more than this many standard errors.
STANDS_OUT = 3.0
#: The values of one pass have tails like Student's t with this many degrees of freedom. The median
#: of 2 k - 1 passes has k times as many.
TAILS = 4
#: Up to this many passes must all agree that a pair is slow; of more passes, two thirds.
FEW_PASSES = 5
#: A pair below this share of the limit is no suspect. The reverse direction of a named pair counts
#: as slow at this p-value.
LARGE, BACK = 0.9, 1e-3
#: With at least this many nodes, each one's own small excess is taken off its pairs.
OWN_EXCESS_NODES = 8
#: Effects that differ by less are alike: a path between others may lead through a slow node.
AS_SLOW = 0.05
#: More slow pairs than two, and than one per sixteen nodes, are not the fault of single links.
FEW_PAIRS, NODES_PER_PAIR = 2, 16
#: Pairs that are not sure enough to be named are suspected up to this false-discovery rate, and at
#: most this many of them.
LOOSE_RATE, MOST_UNSURE = 0.2, 20
#: At most this many pairs below the threshold for a suspect are measured again.
MOST_DOUBTFUL = 8

# Groups and their uplinks.

#: In a block of at least this many pairs, one slow node does not move the median.
OWN_MEDIAN = 25
#: This quantile of the slowness represents a smaller block: it is on the fast side of the median.
FAST_SHARE = 0.35
#: At least this share of a group's nodes must show the slow uplink of the group.
SHOWN_BY_NODES = 0.8
#: The scatter of a group's level is this multiple of a pair's noise over the root of its nodes.
GROUP_ERROR = 2.0
#: A node is judged within its group if its p-value there is less than this share of that among all.
SURER = 1e-3
#: At most this many groups that are slow by their median only are measured again. They are suspects
#: where they have lost this share: in sound dragonflies groups differ by a quarter.
MOST_DOUBTFUL_GROUPS, LARGE_GROUP = 2, 0.5
#: A group is named by what its crossing pairs carry at once if this share of it is lost. In sound
#: dragonflies groups differ by a tenth. Pairs with slow nodes are left out before.
CROSSING_LOSS = 0.3
#: At least this many rounds, and at most about this many of a launch, show what pairs carry at
#: once. This many sound groups stand for all of them.
CROSSING_ROUNDS, CROSSING_SAMPLE, CROSSING_GROUPS = 3, 512, 16
#: With fewer groups no uplink is named: two groups share one path, which may be slow at each end.
FEWEST_GROUPS = 3

# Groups that are found from the data.

#: The number of bins of a histogram. Values within the share ``EQUAL`` of each other count as one:
#: they differ by a tick of the clock. The width of the smoothing kernel is in standard deviations
#: of the noise.
BINS, EQUAL, KERNEL_WIDTH = 256, 0.002, 0.6
#: A level holds at least this share of the pairs. Between two levels the histogram falls to this
#: share of the lower one's height.
LEVEL_SHARE, LEVEL_DIP = 0.01, 0.5
#: With fewer nodes, or a smaller share of their pairs measured, no groups are looked for.
GROUPED_NODES, GROUPED_COVERAGE = 6, 0.5
#: The least share of close pairs within groups, and the largest share of close pairs between them.
#: The least share of nodes in groups of several, and the largest share of these in one group.
CLOSE_WITHIN, CLOSE_BETWEEN, PLACED_NODES, LARGEST_GROUP = 0.8, 0.1, 0.8, 0.75

# Nodes that change, or whose samples scatter.

#: A node is suspect for its scatter if three conditions hold. It exceeds the usual scatter by this
#: many robust deviations, it exceeds it by this much, and it is this multiple of it.
JITTER_DEVIATIONS, LEAST_JITTER, JITTER_MULTIPLE = 6.0, 0.05, 3.0
#: A layer of ``repeats`` is a pass if it has at least this share of the matrix's measured pairs.
WHOLE_PASS = 0.5
#: With fewer nodes than this, a quartile over partners has the tails of a single pass, and at most
#: this many degrees of freedom.
MANY_PARTNERS, FEW_FREEDOM = 16, 4
