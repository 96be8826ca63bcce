"""The file of a campaign: what ships is valid, and what is wrong is named with its place."""

from pathlib import Path

import pytest

from fabricgauge.check.plan.cases import parse_pattern
from fabricgauge.features.campaign.campaign_file import (
    FORMAT,
    VERSION,
    find_campaign,
    read_campaign,
    shipped_names,
)
from fabricgauge.features.campaign.running import SET_BY_PARTS, request_of, require_place_only
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest

HEAD = f'format = "{FORMAT}"\nversion = {VERSION}\nname = "mine"\ntitle = "Mine"\n'
PART = '[[part]]\nname = "a"\ntitle = "A"\n'


def test_five_campaigns_ship_and_each_follows_a_document() -> None:
    assert shipped_names() == ("evaluation", "imb-ten", "provider", "tutorial", "validation")
    for name in shipped_names():
        campaign = find_campaign(name)
        assert campaign.name == name
        assert campaign.document
        assert any(part.measures for part in campaign.part)
        assert campaign.left_out


def test_a_part_becomes_a_request_on_the_stated_nodes() -> None:
    part = find_campaign("imb-ten").part[1]
    request = request_of(part, MeasurementRequest(nodelist="c[1-4]", profile="standard"))
    assert (request.nodelist, request.profile) == ("c[1-4]", "standard")
    assert request.patterns == ("sendrecv", "exchange")
    assert request.sizes[:3] == (0, 1, 8)
    assert request.sizes[-1] == 4 << 20


@pytest.mark.parametrize("name", ["patterns", "sizes", "tool"])
def test_what_the_parts_set_is_refused_beside_a_campaign(name: str) -> None:
    stated = {"patterns": ("latency",), "sizes": (8,), "tool": "imb"}[name]
    assert name in SET_BY_PARTS
    with pytest.raises(UsageError, match=f"--campaign sets --{name}"):
        require_place_only(MeasurementRequest(**{name: stated}))  # type: ignore[arg-type]


def test_a_file_of_a_user_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + PART + 'patterns = ["latency"]\nsizes = ["8", "64K"]\n')
    (part,) = find_campaign(str(path)).part
    assert parse_pattern(part.patterns[0]).pattern == "latency"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("format = 1", "reads campaigns of format"),
        (HEAD.replace("version = 1", "version = 7") + PART, "version 7"),
        (HEAD + PART + "patterns = [", "mine.toml: "),
        (HEAD + PART + 'patern = ["latency"]\n', "patern"),
        (HEAD + PART + 'patterns = ["nosuch"]\n', "part 'a': unknown pattern 'nosuch'"),
        (HEAD + PART + 'patterns = ["latency"]\nsizes = ["x"]\n', "part 'a': 'x' is not a message"),
        (HEAD + PART + 'vary = ["ppn=two,1"]\n', "part 'a': --vary ppn takes numbers"),
        (HEAD + PART + 'tool = "imb:Nosuch"\n', "part 'a': imb has no test"),
        (HEAD + PART + 'references = ["nosuch"]\n', "part 'a': no reference is called"),
        (HEAD + PART + 'compare = ["opx-gains", "nosuch"]\n', "part 'a': no reference is called"),
        (HEAD + PART, "part 'a': it measures nothing and shows no reference"),
        (HEAD + (PART + 'patterns = ["latency"]\n') * 2, "part 'a' stands twice"),
        (HEAD + PART.replace('"a"', '"../a"') + 'patterns = ["latency"]\n', "name"),
        (HEAD + "part = []\n", "1 to 64 parts"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        read_campaign(text, "mine.toml")
    assert reason in str(error.value)
    assert str(error.value).startswith("mine.toml")


def test_an_unknown_name_is_refused_with_the_names_that_ship() -> None:
    with pytest.raises(UsageError, match="shipped: evaluation, imb-ten"):
        find_campaign("nosuch")
