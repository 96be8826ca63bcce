"""The page on health has the tables that the program has."""

import json
import re

from tests.docs.pages import ROOT

from fabricgauge.features.health.checks import CHECKS, LIMITS
from fabricgauge.features.health.expectations import read_expectations
from fabricgauge.features.health.script import ScriptSettings
from fabricgauge.model.answer import MOST_OCTETS

PAGE = (ROOT / "docs/reference/health.md").read_text("utf-8")


def rows(section: str) -> list[list[str]]:
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [line.split(" | ") for line in lines[1:]]


def test_every_check_has_its_row() -> None:
    expected = [[f"`{row.id}`", row.severity, row.fails, row.sources] for row in CHECKS]
    assert rows("What is checked") == expected


def test_every_limit_has_its_row_with_its_origin() -> None:
    expected = []
    for row in LIMITS:
        by_rate = f", or {row.fail_per_gbit:g} × Gb/s" if row.fail_per_gbit else ""
        fail = "never" if row.fail_over is None else f"{row.fail_over}{by_rate}"
        expected.append([f"`{row.kind}`", row.counters, str(row.warn_over), fail, row.origin])
    assert rows("Counters") == expected


def test_the_examples_of_the_pages_are_valid() -> None:
    toml = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert toml
    known = read_expectations(toml[1], "health.md")
    assert known.limits == {"flaps": (0, 5)}
    assert known.classes[0].parts[("port", "mlx5_0:1")]["gid 3"] == "RoCE v2 eth0"
    guide = (ROOT / "docs/how-to/watch-nodes.md").read_text("utf-8")
    rule = re.search(r"```json\n(.*?)```", guide, re.DOTALL)
    assert rule
    plugin = json.loads(rule[1])
    conditions = {row["type"] for row in plugin["conditions"]}
    assert {row["condition"] for row in plugin["rules"]} <= conditions
    settings = plugin["pluginConfig"]
    assert settings["max_output_length"] == MOST_OCTETS["npd"]
    assert float(settings["timeout"].rstrip("s")) > ScriptSettings().limit_s
