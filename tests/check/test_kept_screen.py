"""A terminal shows what is kept of a run only while it is what judging it anew would show."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.typed import typed

import fabricgauge
import fabricgauge.check.conclude as concluding
from fabricgauge.check import kept_screen
from fabricgauge.check.conclude import conclude, write_reports
from fabricgauge.judge.thresholds import DEFAULTS, thresholds_from
from fabricgauge.model.progress import SILENT
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting
from fabricgauge.report.render import terminal
from fabricgauge.store.run_directory import JUDGED_FROM, RunDirectory
from fabricgauge.store.run_files import load

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: Two nodes, many, a log, a launch that broke, a simulator, an own choice of MPI.
CASES = ("healthy", "slow-link", "slow-node", "imported", "lost-link", "simulated", "unpinned")
HEALTHY = "healthy"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))


def keep(case: str, folder: Path) -> RunDirectory:
    """Return a copy of a stored run with the reports of this version."""
    (run,) = (RUNS / f"0.1.0--{case}").iterdir()
    directory = RunDirectory(shutil.copytree(run, folder / run.name))
    write_reports(directory, conclude(load(directory), DEFAULTS), DEFAULTS, SILENT)
    return directory


@pytest.fixture
def healthy(tmp_path: Path) -> RunDirectory:
    return keep(HEALTHY, tmp_path)


def refuse(*_: object) -> None:
    raise AssertionError("the run was judged anew")


@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_is_shown_as_if_it_were_judged_anew(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = keep(case, tmp_path)
    run = str(directory.path)
    kept = kept_screen.read_screen(directory, DEFAULTS)
    assert kept
    _, screen = kept
    document = msgspec.json.decode(screen.document, type=doc.Report)
    for width, colour in kept_screen.USUAL_TERMINALS:
        text = terminal.render(document, Setting(width, colour))
        assert screen.texts[kept_screen.name_terminal(width, colour)] == text
    with monkeypatch.context() as patch:
        patch.setattr(kept_screen, "read_screen", lambda *_: None)
        anew = {columns: typed("report", run, COLUMNS=columns) for columns in ("100", "61")}
    monkeypatch.setattr(concluding, "conclude", refuse)
    for columns, answer in anew.items():
        assert typed("report", run, COLUMNS=columns) == answer
        assert len(answer.output.splitlines()) > 5


@pytest.mark.parametrize(
    "words", [("-v",), ("--format", "json"), ("--against", "guide-1gbe-imb-pingpong")]
)
def test_other_reports_are_judged_anew(
    words: tuple[str, ...], healthy: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concluding, "conclude", refuse)
    with pytest.raises(AssertionError, match="judged anew"):
        typed("report", str(healthy.path), *words)


def test_an_edited_screen_is_not_shown(healthy: RunDirectory) -> None:
    path = healthy.path / kept_screen.NAME
    encoded = path.read_bytes()
    assert kept_screen.read_screen(healthy, DEFAULTS)
    for old, new in ((b'"overall":"PASS"', b'"overall":"FAIL"'), (b"MB/s", b"GB/s")):
        assert old in encoded
        path.write_bytes(encoded.replace(old, new, 1))
        assert kept_screen.read_screen(healthy, DEFAULTS) is None
    for damaged in (b"", b"{}", b"[" * 100_000, b"\xff", encoded[:-5]):
        path.write_bytes(damaged)
        assert kept_screen.read_screen(healthy, DEFAULTS) is None
        assert typed("report", str(healthy.path)).output.startswith(" PASS")
    path.write_bytes(encoded)
    assert kept_screen.read_screen(healthy, DEFAULTS)


def test_a_screen_of_another_user_is_not_shown(
    healthy: RunDirectory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who sends a run can compute every part of the digest but the key."""
    key = tmp_path / "cache/fabricgauge" / kept_screen.KEY
    assert key.stat().st_mode & 0o777 == 0o600
    own = key.read_bytes()
    for other in (bytes(32), own[:-1], b""):
        key.write_bytes(other)
        assert kept_screen.read_screen(healthy, DEFAULTS) is None
    key.unlink()
    assert kept_screen.read_screen(healthy, DEFAULTS) is None
    key.write_bytes(own)
    key.chmod(0o600)
    assert kept_screen.read_screen(healthy, DEFAULTS)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr(concluding, "conclude", refuse)
    with pytest.raises(AssertionError, match="judged anew"):
        typed("report", str(healthy.path))


@pytest.mark.parametrize("name", JUDGED_FROM)
def test_other_records_are_judged_anew(name: str, healthy: RunDirectory) -> None:
    file = healthy.path / name
    before = file.read_bytes() if file.exists() else b""
    state = file.stat() if file.exists() else None
    file.write_bytes(before[:-2] + b" " + before[-1:])
    if state:
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert kept_screen.read_screen(healthy, DEFAULTS) is None
    if state:
        file.write_bytes(before)
    else:
        file.unlink()
    assert kept_screen.read_screen(healthy, DEFAULTS)


def test_other_thresholds_or_another_program_judge_anew(
    healthy: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stricter = thresholds_from({"fraction.pass": 0.96}, "site")
    assert kept_screen.read_screen(healthy, stricter) is None
    program = list(kept_screen._program_files())
    assert any(b"/judge/judging.py " in file for file in program)
    monkeypatch.setattr(kept_screen, "_program_files", lambda: [*program[1:], program[0] + b"1"])
    assert kept_screen.read_screen(healthy, DEFAULTS) is None


def test_the_list_of_an_installed_package_stands_for_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "fabricgauge"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(fabricgauge, "__file__", str(package / "__init__.py"))
    editable = list(kept_screen._program_files())
    (package / "__init__.py").write_text("edited = True")
    edited = list(kept_screen._program_files())
    assert len(editable) == len(edited) == 1 and editable != edited
    record = tmp_path / f"fabricgauge-{fabricgauge.__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("fabricgauge/__init__.py,sha256=a,11")
    installed = list(kept_screen._program_files())
    record.write_text("fabricgauge/__init__.py,sha256=b,11")
    assert installed != list(kept_screen._program_files())
    assert b"RECORD" in installed[0] and len(installed) == 1


def test_a_renamed_run_or_one_that_others_can_change_is_judged_anew(
    healthy: RunDirectory,
) -> None:
    renamed = RunDirectory(healthy.path.rename(healthy.path.with_name("20300101T000000Z-aaaaaa")))
    assert kept_screen.read_screen(renamed, DEFAULTS) is None
    renamed.path.rename(healthy.path)
    (healthy.path / kept_screen.NAME).chmod(0o666)
    assert kept_screen.read_screen(healthy, DEFAULTS) is None


def test_long_records_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_screen, "MOST_BYTES", 1000)
    directory = keep(HEALTHY, tmp_path)
    assert (directory.path / "report.json").exists()
    assert not (directory.path / kept_screen.NAME).exists()


_REPORT = """
import sys
sys.argv = ["fabricgauge", "report", sys.argv[1]]
from fabricgauge.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code, *sorted(sys.modules), file=sys.stderr)
"""


def test_a_kept_screen_needs_neither_numpy_nor_rules(healthy: RunDirectory) -> None:
    argv = [sys.executable, "-c", _REPORT, str(healthy.path)]
    environment = {**os.environ, "COLUMNS": "100"}
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    status, *modules = ended.stderr.split()
    assert (status, ended.stdout[:5]) == ("0", " PASS")
    assert "numpy" not in modules
    assert not [name for name in modules if name.startswith("fabricgauge.judge.rules")]
    assert not [name for name in modules if name.startswith("fabricgauge.report.content")]
    assert "rich" not in modules


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tones = st.sampled_from(["", "pass", "warn", "fail", "invalid", "inconclusive", "skipped"])
media = st.sampled_from([doc.SCREEN, doc.TEXT, doc.ALL, doc.PAGE, doc.TRACKER])
inlines = texts | st.builds(doc.Cell, texts, st.booleans(), tones)
limits = st.none() | st.builds(
    doc.RowLimit, st.just("{count} more"), st.just({doc.SCREEN: 1, doc.PAGE: 3})
)


def _tables(width: int) -> st.SearchStrategy[doc.Table]:
    columns = st.lists(
        st.builds(doc.ColumnHead, texts, st.booleans(), on=media), min_size=width, max_size=width
    )
    rows = st.lists(st.tuples(*[inlines] * width), max_size=3)
    return st.builds(
        doc.Table, columns.map(tuple), rows.map(tuple), tight=st.booleans(), limit=limits, on=media
    )


def _many(
    parts: st.SearchStrategy[doc.Block], least: int = 0
) -> st.SearchStrategy[tuple[doc.Block, ...]]:
    return st.lists(parts, min_size=least, max_size=3).map(tuple)


plain_blocks: st.SearchStrategy[doc.Block] = st.one_of(
    st.builds(doc.Paragraph, texts, st.sampled_from(["plain", "strong", "remedy"]), media),
    st.builds(doc.Items, st.lists(inlines, max_size=3).map(tuple), limit=limits, on=media),
    st.builds(doc.FactList, st.lists(st.tuples(texts, texts), max_size=3).map(tuple), media),
    st.builds(doc.Lines, st.lists(texts, max_size=3).map(tuple), media),
    st.builds(doc.Heading, texts, st.just(1), media),
    st.integers(1, 3).flatmap(_tables),
)
blocks = st.recursive(
    plain_blocks,
    lambda inner: (
        st.builds(doc.Fold, texts, texts, _many(inner), on=media)
        | st.builds(
            doc.Judgement, texts, tones, texts, texts, texts,
            st.lists(st.builds(doc.Entry, texts, _many(inner, 1)), max_size=2).map(tuple),
            on=media,
        )
    ),
    max_leaves=6,
)  # fmt: skip
sections = st.builds(doc.Section, texts, texts, _many(blocks), intro=texts, on=media)
reports = st.builds(
    doc.Report, texts, tones, texts, texts, texts, st.lists(sections, max_size=3).map(tuple),
    provisos=st.lists(texts, max_size=2).map(tuple),
)  # fmt: skip


@given(reports, st.integers(40, 140))
def test_a_document_is_shown_alike_after_it_was_stored(report: doc.Report, width: int) -> None:
    encoded = msgspec.json.encode(kept_screen._cut_to_screen(report))
    decoded = msgspec.json.decode(encoded, type=doc.Report)
    setting = Setting(width=width, colour=True)
    assert terminal.render(decoded, setting) == terminal.render(report, setting)


def test_outcomes_have_their_exit_status(healthy: RunDirectory) -> None:
    kept = kept_screen.read_screen(healthy, DEFAULTS)
    assert kept and kept[0] is Outcome.PASS
    run = str(healthy.path)
    assert typed("report", run, "--fail-on", "warn").status == 0
