"""The first page of help is text of its own: it must say what click would."""

import os
import subprocess
import sys
from pathlib import Path

import click

from fabricgauge.cli.overview import VERBS, overview
from fabricgauge.cli.verbs import cli


def test_the_page_names_every_option_that_click_knows() -> None:
    context = click.Context(cli, **cli.context_settings)
    records = [p.get_help_record(context) for p in cli.get_params(context)]
    assert len(records) == 2
    for record in records:
        assert record is not None
        names, text = record
        assert f"  {names:13}  {text}\n" in overview()


def test_the_page_names_every_verb_and_each_is_a_command() -> None:
    context = click.Context(cli)
    width = max(map(len, VERBS))
    for verb, (_, text) in VERBS.items():
        assert f"  {verb:{width}}  {text}" in overview()
        assert cli.get_command(context, verb) is not None


def test_the_page_begins_as_clicks_own_and_fits_80_columns() -> None:
    context = click.Context(cli, info_name="fabricgauge")
    assert overview().startswith(cli.get_usage(context) + "\n")
    assert all(len(line) <= 80 for line in overview().splitlines())


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = Path(sys.executable).with_name("fabricgauge")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([program, "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_of_both_streams_that_goes_away_changes_no_exit_status(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("fabricgauge")
    read, write = os.pipe()
    os.close(read)
    words = ("import", "guide-40gbe-imb-pingpong", "-o", str(tmp_path / "page.html"))
    done = subprocess.run([program, *words], stdout=write, stderr=write, check=False)
    os.close(write)
    assert done.returncode == 3
    assert (tmp_path / "page.html").exists()
