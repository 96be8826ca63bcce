"""From when on something slow is called a fault: every number that the localiser decides by.

Where nothing else is said, a value comes from trials on planted faults: ``benchmarks/ablation.py``
shows what it is worth, ``benchmarks/fault_detection.py`` the rates that all of them give together.
Numbers that follow from a distribution stand in ``noise.py`` and ``typical.py``.
"""

from fabricgauge.model.pairs import Quantity

#: Least effects of a fault, as shares: of bandwidth lost, of latency added.
FAULT: dict[Quantity, float] = {"bandwidth": 0.10, "latency": 0.05}
#: The false-discovery rate at which things are named.
RATE = 0.01

#: A fault at the limit itself is measured below it half of the time, and its link may be a little
#: better than the others' to begin with. It is named when so many standard errors more would reach
#: the limit.
REACH = 4.0
#: But never for less than this share of the limit.
LEAST = 0.5

#: Clocks, rounding and protocol leave this much scatter even where a simulator repeats itself.
FLOOR = 0.002

#: What shows this share of an effect shows the effect: a second measurement, a pass, the way back,
#: a node of a group, a partner (benchmarks/fault_detection.py).
SHOWN = 0.5
#: That it names somebody good, of all who are tested in a matrix together (Bonferroni).
CHANCE = 0.002
#: Fewer good pairs do not show how far good ones differ.
FEWEST_GOOD = 3

#: Good partners of each suspect: one may turn out to be none, a third one decides.
PARTNERS = 3
#: So many good nodes meet each other: their pairs show how far good pairs differ.
CONTROLS = 5
#: Further suspects are left for another time: some minutes are what a check can spend on it.
MOST_SUSPECTS = 16
#: So many nodes stand for a suspect group.
NODES_OF_GROUP = 2
#: What every pair is measured again with; a claim's own size is added.
RECHECKED: tuple[tuple[Quantity, int], ...] = (("latency", 8), ("bandwidth", 1 << 20))
#: Launches of a second measurement of latencies that were measured in one pass: what a pair has
#: differs from launch to launch by how ranks fall on processors.
LATENCY_LAUNCHES = 2

# Nodes and their directions.

#: A slow end is slow with at least three quarters of its partners.
QUARTER = 0.25
#: A slow end that is not named is suspected at this p.
MAYBE_SLOW = 0.02
#: With more nodes than this, all that stands out in one look is named at once: for speed.
ONE_BY_ONE = 512
#: With this share of the nodes slow, one of so many, the median over all pairs is still a healthy
#: pair's.
MANY_SLOW = 16
#: So many levels have a scatter of their own; fewer are compared with the faster third.
MANY = 16
#: A node that so many of the scattered slow pairs have in common is suspected instead of them.
COMMON_NODE = 0.9

# Single pairs.

#: Pairs this many standard errors slow are looked at more closely.
CONSPICUOUS = 3.0
#: The values of one pass have tails like Student's t with so many degrees of freedom; the median
#: of 2 k - 1 passes has k times as many.
TAILS = 4
#: So few passes must agree that a pair is slow; of more, two thirds.
FEW_PASSES = 5
#: Pairs of this share of the limit are named or suspected; the way back of one that is named
#: counts as slow at this p.
LARGE, BACK = 0.9, 1e-3
#: From so many nodes on, each one's own small excess is taken off its pairs.
OWN_EXCESS_NODES = 8
#: More slow pairs than two, and than one for sixteen nodes, are no single links' fault.
FEW_PAIRS, NODES_PER_PAIR = 2, 16
#: Pairs that look slow but are not sure: suspected up to this rate of false ones, so many at most.
LOOSE_RATE, MOST_UNSURE = 0.2, 20
#: So many pairs that are less conspicuous are worth another look.
MOST_DOUBTFUL = 8

# Groups and their uplinks.

#: A block of so many pairs has a median that one slow node does not move.
OWN_MEDIAN = 25
#: In a smaller block this quantile of the slowness stands for it: its faster side.
FAST_SHARE = 0.35
#: So many of a group's nodes must show what is said of the group.
SHOWN_BY_NODES = 0.8
#: A group's level scatters by this many times a pair's noise over the root of its nodes.
GROUP_ERROR = 2.0
#: A node whose p within its group is by this factor less than among all is judged by its group.
SURER = 1e-3
#: Two groups have one way between them: nobody can say which one's uplink is slow.
FEWEST_GROUPS = 3

# Groups that are found from the data.

#: A histogram of so many bins; values that differ by less than ``EQUAL`` are one, since nothing is
#: measured to so many digits; a kernel so many standard deviations of the noise wide smooths it.
BINS, EQUAL, KERNEL_WIDTH = 256, 1e-9, 0.6
#: A level holds at least this share of the pairs, and the dip to the next is half its height.
LEVEL_SHARE, LEVEL_DIP = 0.01, 0.5
#: Fewer nodes, or fewer of their pairs measured, show no blocks.
GROUPED_NODES, GROUPED_COVERAGE = 6, 0.5
#: Share of the pairs that must be close within groups, may be close between them, share of the
#: nodes that must be in a group of several, share of them that the largest group may have.
CLOSE_WITHIN, CLOSE_BETWEEN, PLACED_NODES, LARGEST_GROUP = 0.8, 0.1, 0.8, 0.75

# Nodes that change, or whose samples scatter.

#: A node's samples scatter conspicuously when it is so many robust deviations from the others,
#: and by so much, and by this multiple of the usual.
JITTER_DEVIATIONS, LEAST_JITTER, JITTER_MULTIPLE = 6.0, 0.05, 3.0
#: A layer of ``repeats`` is a pass if it has at least this share of the matrix's pairs.
WHOLE_PASS = 0.5
#: A quartile of fewer partners has the tails of a single pass.
MANY_PARTNERS, FEW_FREEDOM = 16, 4
