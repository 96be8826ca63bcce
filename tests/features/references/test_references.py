"""Published results on the command line: the list, one with its figures, and a wrong name."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner
from tests.docs.json_schemas import require_fit

from fabricgauge.check.conclude import reference_curves
from fabricgauge.cli.import_ import _find_sources
from fabricgauge.features.references.verb import references
from fabricgauge.logs.references.interface import is_reference, names
from fabricgauge.model.errors import UsageError


def printed(*words: str) -> str:
    result = CliRunner().invoke(references, words, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_every_reference_is_listed_and_tables_too() -> None:
    rows = printed("--format", "json")
    require_fit("references", json.loads(rows))
    assert all(name in rows for name in names())


def test_a_table_is_shown_as_printed() -> None:
    assert "0.9357" in printed("guide-conversions")


def test_a_curve_is_shown_in_both_units() -> None:
    assert "117.0 (0.9357 Gb/s)" in printed("guide-1gbe-osu-put-bw", "--format", "html")


def test_a_beginning_selects_a_document_s_references() -> None:
    text = printed("tutorial-edr", "--format", "json")
    assert "tutorial-edr-send-lat" in text
    assert "guide-" not in text


@pytest.mark.parametrize(
    "take", [lambda name: _find_sources((name,), None, None), reference_curves]
)
def test_what_cannot_take_a_table_names_the_verb_that_shows_it(
    take: Callable[[str], object],
) -> None:
    with pytest.raises(UsageError, match="fabricgauge references guide-conversions"):
        take("guide-conversions")


def test_an_unknown_name_is_refused_with_those_that_come_close() -> None:
    with pytest.raises(UsageError, match="did you mean guide-conversions"):
        CliRunner().invoke(references, ["guide-conversion-s"], catch_exceptions=False)
    assert is_reference("ref:guide-conversions")
    assert not is_reference("ref:nosuch")
