"""The rules, one row each, those nearest to a cause first; a module is loaded when it judges.

A lost node or link explains later verdicts: missing cases, an unproven path, low figures. So the
first verdict of the worst outcome is the headline.
"""

from functools import cache
from importlib import import_module

from fabricgauge.judge.interface import Rule

#: The ids of the rules. The rule ``host-limited`` is the module ``host_limited`` of this folder.
RULES: tuple[str, ...] = (
    "connect",
    "link",
    "launch",
    "coverage",
    "completeness",
    "placement",
    "path",
    "floor",
    "above-ceiling",
    "cache-shape",
    "data",
    "mtu",
    "foreign-traffic",
    "lossy",
    "outliers",
    "pairs",
    "fraction",
    "host-limited",
    "latency",
    "asymmetry",
    "stability",
    "dips",
    "concurrent",
    "errors",
)

#: Rules on times and rates that the nodes reach: not applied to emulated processors.
RULES_OF_SPEED: tuple[str, ...] = (
    "floor", "above-ceiling", "cache-shape", "outliers", "pairs", "lossy", "fraction",
    "host-limited", "latency", "asymmetry", "stability", "dips", "concurrent",
)  # fmt: skip

#: Rules that give no verdict unless all pairs of several nodes were measured.
RULES_OF_PAIRS: tuple[str, ...] = ("outliers", "pairs", "concurrent")

#: Without a pass (or warning) of each of these rules, a run proves nothing.
DECIDING: tuple[str, ...] = ("placement", "path", "fraction")

#: A simulator carries no bytes to count.
DECIDING_SIMULATED: tuple[str, ...] = ("placement", "fraction")

#: Emulated processors prove the path and the data, but no speed.
DECIDING_EMULATED: tuple[str, ...] = ("placement", "path")

#: Imported logs prove neither path nor placement: there the figures decide, between the floor and
#: the ceiling of the stated network.
DECIDING_IMPORTED: tuple[str, ...] = ("fraction",)


@cache
def load_rule(rule: str) -> Rule:
    module: Rule = import_module(f"{__name__}.{rule.replace('-', '_')}")
    return module
