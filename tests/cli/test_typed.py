"""What people type works, or is answered with what they meant."""

from pathlib import Path

import click
import pytest
from tests.cli.typed import typed

from fabricgauge import __version__
from fabricgauge.cli import nearest
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import VERBS
from fabricgauge.cli.verbs import cli
from fabricgauge.model.request import MeasurementRequest

FIXTURES = Path(__file__).parents[1] / "fixtures"
HEALTHY = next((FIXTURES / "runs" / "0.1.0--healthy").iterdir())


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[MeasurementRequest]:
    """Collect the requests that verbs make, and end each verb there."""
    collected: list[MeasurementRequest] = []

    def collect(options: dict[str, object]) -> MeasurementRequest:
        collected.append(build(options))
        raise click.exceptions.Exit(0)

    build = cli_options.build_request
    monkeypatch.setattr(cli_options, "build_request", collect)
    return collected


@pytest.mark.parametrize("verb", ["check", "doctor", "discover"])
@pytest.mark.parametrize(
    ("words", "nodelist"),
    [
        (("c1", "c2"), "c1,c2"),
        (("c1,", "c2"), "c1,c2"),
        (("c[1-16]",), "c[1-16]"),
        (("^hosts.txt",), "^hosts.txt"),
        (("-w", "c[1-2]"), "c[1-2]"),
        ((), ""),
    ],
)
def test_nodes_are_words_or_an_option(
    verb: str, words: tuple[str, ...], nodelist: str, requests: list[MeasurementRequest]
) -> None:
    assert typed(verb, *words).status == 0
    assert [request.nodelist for request in requests] == [nodelist]


def test_nodes_named_twice_are_refused() -> None:
    answer = typed("check", "c1", "c2", "-w", "c3")
    assert answer.status == 2
    assert "c1 c2" in answer.message and "-w c3" in answer.message


def test_nodes_beside_a_bundle_are_refused_by_name() -> None:
    answer = typed("doctor", "c1", "--from", str(FIXTURES / "runs" / "0.1.0--discovered"))
    assert answer.status == 2
    assert "NODES" in answer.message


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_has_a_short_option(option: str) -> None:
    assert typed(option).output == f"fabricgauge, version {__version__}\n"


@pytest.mark.parametrize("words", [("check",), ("lab",), ("lab", "up"), ("engine", "build"), ()])
def test_help_is_a_verb(words: tuple[str, ...]) -> None:
    answer = typed("help", *words)
    assert answer.status == 0
    usage = " ".join(("Usage: fabricgauge", *words))
    assert answer.output.startswith(usage)
    if words:
        assert answer.output == typed(*words, "--help").output


def test_help_of_an_unknown_verb_names_the_meant_one() -> None:
    answer = typed("help", "measure")
    assert answer.status == 2
    assert "'fabricgauge check'" in answer.message
    assert typed("help", "check", "up").status == 2


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("chekc", "check"), ("run", "check"), ("test", "check"), ("list", "runs"), ("ls", "runs"),
        ("show", "report"), ("diff", "compare"), ("diagnose", "doctor"), ("scan", "discover"),
        ("reprot", "report"), ("build", "engine build"), ("rules", "explain"), ("up", "lab up"),
    ],
)  # fmt: skip
def test_an_unknown_verb_is_answered_with_the_meant_one(word: str, meant: str) -> None:
    answer = typed(word)
    assert answer.status == 2
    assert f"did you mean 'fabricgauge {meant}'?" in answer.message


@pytest.mark.parametrize(
    ("word", "meant"), [("create", "up"), ("destroy", "down"), ("ls", "list"), ("ssh", "exec")]
)
def test_verbs_of_lab_have_such_words_too(word: str, meant: str) -> None:
    assert f"'fabricgauge lab {meant}'" in typed("lab", word).message


@pytest.mark.parametrize(
    ("words", "meant", "never"),
    [
        (("check", "--hosts", "c1,c2"), "-w NODES", "--streams"),
        (("check", "--timeout", "60"), "--budget TIME", "--mpi"),
        (("check", "--host", "c1"), "-w NODES", "--lab-nodes"),
        (("check", "--hostfile", "f"), "-w ^FILE", "--profile"),
        (("check", "--interface", "eth0"), "--network NAME", "--patterns"),
        (("check", "--size", "8"), "--sizes LIST", "--ppn"),
        (("check", "--json"), "--format json", "--sim"),
        (("check", "--html"), "-o FILE.html", "--mpi"),
        (("check", "--iterations", "5"), "--launches N", "--patterns"),
        (("check", "--lanches", "5"), "--launches", "--lab"),
        (("check", "--pattern", "latency"), "--patterns LIST", "--sizes"),
        (("doctor", "--timeout", "5"), "--seconds S", "--budget"),
        (("discover", "--hosts", "c1"), "-w NODES", "--bundle"),
        (("import", "x", "--hostfile", "f"), "see 'fabricgauge import --help'", "-w"),
        (("compare", "a", "b", "--tolerence", "5%"), "--tolerance", "--sizes"),
        (("check", "--zzz"), "see 'fabricgauge check --help'", "did you mean"),
        (("lab", "up", "--node", "3"), "--nodes", "--network"),
        (("engine", "build", "--mpicc", "x"), "--mpicxx", "--force"),
    ],
)
def test_an_unknown_option_is_answered_with_the_meant_one(
    words: tuple[str, ...], meant: str, never: str
) -> None:
    answer = typed(*words)
    assert answer.status == 2
    assert meant in answer.message
    assert never not in answer.message.rpartition("has no option")[2]


def test_a_lone_v_says_where_it_belongs() -> None:
    message = typed("-v").message
    assert "-V is the version" in message and "check -v" in message


def options(command: click.Command, context: click.Context) -> set[str]:
    """Return the names of all options of a command and its verbs."""
    names = {name for parameter in command.params for name in parameter.opts}
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            assert found is not None
            names |= options(found, context)
    return names


def test_every_hint_names_an_option_and_every_word_a_verb_that_exists() -> None:
    known = options(cli, click.Context(cli))
    hints = {hint.split()[0] for hints in nearest.OPTION_WORDS.values() for hint in hints}
    assert hints <= known
    assert {verb.split()[0] for verb in nearest.VERB_WORDS.values()} <= {*VERBS, "-V"}
    assert not set(nearest.VERB_WORDS) & set(VERBS)
    lab = cli.get_command(click.Context(cli), "lab")
    assert isinstance(lab, click.Group)
    assert set(nearest.LAB_WORDS.values()) <= set(lab.commands)
    assert not set(nearest.LAB_WORDS) & set(lab.commands)


LOG = (FIXTURES / "osu").rglob("*.out")


def test_import_reads_standard_input(tmp_path: Path) -> None:
    log = min(LOG)
    content = log.read_bytes()
    from_file = typed("import", str(log), "-o", str(tmp_path / "file"))
    from_input = typed("import", "-", "-o", str(tmp_path / "input"), stdin=content)
    assert from_input.status == from_file.status != 2
    assert from_input.output.split()[0] == from_file.output.split()[0]
    (run,) = (tmp_path / "input").iterdir()
    (copy,) = (run / "raw" / "import-001").iterdir()
    assert copy.read_bytes() == content
    assert "standard input" in (run / "results.jsonl").read_text()


def test_standard_input_is_read_once() -> None:
    assert typed("import", "-", "-", stdin=b"").status == 2


def test_empty_standard_input_is_refused(tmp_path: Path) -> None:
    answer = typed("import", "-", "-o", str(tmp_path), stdin=b"")
    assert answer.status == 3
    assert "standard input" in answer.message
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("suffix", "beginning"),
    [(".html", "<!doctype html>"), (".md", "# PASS"), (".json", "{"), (".csv", "run,outcome,"),
     (".xml", "<?xml"), (".prom", "# HELP"), (".txt", " PASS ")],
)  # fmt: skip
def test_o_with_a_suffix_writes_a_file_besides_the_terminal(
    suffix: str, beginning: str, tmp_path: Path
) -> None:
    file = tmp_path / f"report{suffix}"
    answer = typed("report", str(HEALTHY), "-o", str(file))
    assert answer.status == 0
    assert answer.output == typed("report", str(HEALTHY)).output
    assert file.read_text().lower().startswith(beginning.lower())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("report.pdf", "ends in"), ("none/report.html", "no directory"), ("dir.html", "ends in")],
)
def test_o_is_refused_before_anything_is_done(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "dir.html").mkdir()
    if name == "dir.html":  # an existing directory stays a directory
        assert "no run" in typed("report", "x", "-o", str(tmp_path / name)).message
        return
    answer = typed("report", str(HEALTHY), "-o", str(tmp_path / name))
    assert answer.status == 2
    assert reason in answer.message


def test_o_with_a_slash_is_a_directory_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "runs.html"
    log = str(min((FIXTURES / "osu").rglob("*.out")))
    assert typed("import", log, "-o", f"{folder}/").status != 2
    assert any(folder.iterdir())


def test_o_of_a_format_that_the_report_lacks_is_refused(tmp_path: Path) -> None:
    answer = typed(
        "doctor", "--from", str(FIXTURES / "runs" / "0.1.0--discovered"),
        "-o", str(tmp_path / "x.csv"),
    )  # fmt: skip
    assert answer.status == 2
    assert "csv" in answer.message


@pytest.mark.parametrize(
    "words",
    [("check", "--dry-run"), ("submit", "-N", "2", "--dry-run"), ("doctor", "--list")],
)
def test_o_without_a_report_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = typed(*words, "-o", str(tmp_path / "x.html"))
    assert answer.status == 2
    assert "x.html" in answer.message


def test_v_prints_what_the_page_holds() -> None:
    brief, full = (typed("report", str(HEALTHY), *option).output for option in ((), ("-v",)))
    assert len(full.splitlines()) > 1.5 * len(brief.splitlines())
    assert "Environment" in full and "Environment" not in brief
