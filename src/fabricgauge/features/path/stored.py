"""Show and list traced paths that are stored, and import a file of Intel SDE."""

from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from fabricgauge.cli.show import print_report, require_format
from fabricgauge.features.path.changes_content import change_sections, compare_paths, headline
from fabricgauge.features.path.recording import FILE, read_paths
from fabricgauge.features.path.sde import is_listing, reference_paths, sde_files, sde_paths
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.store import settings
from fabricgauge.store.files.reading import read_text, shown
from fabricgauge.store.run_directory import RunDirectory, describe, now_utc
from fabricgauge.store.run_files import About


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome:
    """Print traced paths, which are not judged."""
    print_report("call_paths", read_paths(directory), format_name, to)
    return Outcome.PASS


def list_stored(directory: RunDirectory) -> StoredRun:
    """Return traced paths as a list shows them."""
    paths = read_paths(directory)
    return describe(directory, "path", paths.started_utc, paths.nodes)


def compared_blocks(a: str, b: str) -> tuple[doc.Block, ...]:
    """Return a comparison of two published listings as a part of another report.

    Return nothing if one of them is no listing of a call's instructions.
    """
    references = reference(a), reference(b)
    if not all(map(is_listing, references)):
        return ()
    comparison = compare_paths(*map(reference_paths, references))
    return (
        doc.Paragraph(headline(comparison), kind="strong"),
        *(block for section in change_sections(comparison) for block in section.blocks),
    )


def import_file(path: Path, options: dict[str, Any]) -> bool:
    """Store and show a file of Intel SDE, which is not judged; return False for any other file."""
    if not sde_files(path):
        return False
    name = require_format("call_paths", options["format"])
    text = read_text(path)
    paths = sde_paths(path.name, (text,))
    directory = RunDirectory.create(options["output"] or settings.path_root())
    directory.raw("sde")
    directory.write_bytes("raw/sde/imported.txt", text.encode())
    paths = replace(paths, identity=directory.identity, started_utc=now_utc())
    command = ("fabricgauge", "import", shown(str(path)))
    directory.write("run.json", About(paths.started_utc, command, {"from": "Intel SDE"}))
    directory.write(FILE, paths)
    directory.finish()
    print_report("call_paths", paths, name, options["to"])
    click.echo(f"Traced paths {directory.path}", err=True)
    return True
