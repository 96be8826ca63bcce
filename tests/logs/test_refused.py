"""What a refused file is told of, and limits that end the reading of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricgauge.check import import_logs
from fabricgauge.check.conclude import conclude
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.logs.read_files import read_file
from fabricgauge.logs.readers.suites import Found, read
from fabricgauge.logs.refused import RefusedFile, refusal
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.progress import SILENT, Progress
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.run_directory import RunDirectory

OSU = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n"


@pytest.mark.parametrize(("content", "told"), [
    (b"", "log holds no result"),
    (b"srun: error: Unable to allocate resources\n", "log seems to be a launcher's error"),
    (b"hello\nworld\n", "log, line 1, “hello”: expected the output of a known suite"),
    (b"\n\n<html><body>", "log seems to be an HTML page: save the log itself, line 3"),
    (b'{"a": 1}\n', "log seems to be JSON of another program, line 1"),
    (b"\x89PNG\r\n\x00", "log seems to be a binary file, line 1"),
    (b"bash: mpirun: command not found\n", "log seems to be a shell's error"),
    (b"junk\n" + OSU + b"1 2,00\n4 2,10\n",
     "log seems to be osu (osu_latency), line 4, “1 2,00”: expected a decimal point; "
     "this line has a decimal comma"),
    (OSU, "log seems to be osu (osu_latency), line 1: no row follows the heading"),
])  # fmt: skip
def test_a_refusal_names_what_the_file_seems_to_be_and_the_line(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    refused = RefusedFile("log").with_results(tuple(read_file(path, "log")))
    assert refusal([refused]).startswith(f"found no figure of a known suite: {told}")


@pytest.mark.parametrize(("content", "line", "told"), [
    (b"job 4711\nmpirun -np 2 ./osu_bw\n65536 11950.10\n", "line 2, “mpirun -np 2 ./osu_bw”",
     "OSU's title"),
    (b"[0] ready\n[0] # Size  Bandwidth (MB/s)\n[0] 65536 11950.10\n",
     "line 2, “[0] # Size  Bandwidth (MB/s)”", "OSU's title above this heading"),
    (b"results of c1\n65536 11950.10\n", "line 2, “65536 11950.10”", "a heading above it"),
    (b"hello\n it runs at 9.4 Gbits/sec\n", "line 2, “it runs at 9.4 Gbits/sec”",
     "a heading above it"),
    (b"started\nAverage bandwidth: 48876.7 MB/s\n", "line 2, “Average bandwidth", "ClusterKit"),
    (b"[0] hello\n", "line 1, “[0] hello”", "the output of a known suite"),
])  # fmt: skip
def test_a_refusal_points_to_the_line_that_looks_most_like_a_suite(
    tmp_path: Path, content: bytes, line: str, told: str
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(content)
    directory = RunDirectory.create(tmp_path / "runs")
    sources = import_logs.sources_of(path, None)
    with pytest.raises(CannotRun) as refused:
        import_logs.import_logs(sources, directory, (), SILENT)
    assert f"a.log, {line}" in str(refused.value)
    assert told in str(refused.value).partition(": expected ")[2]


NCCL = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    157.3    6.66   12.50    {0}    157.3    6.66   12.50    {0}
     2097152        524288     float     sum      -1    162.7   12.89   24.17    {0}    162.7   12.89   24.17    {0}
"""  # noqa: E501
CHECKED = """# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)        Validation
1048576              12184.81              {0}
4194304              12256.06              {0}
"""


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        (CHECKED.format("Fail"), Outcome.FAIL),
        (NCCL.format(5), Outcome.FAIL),
        (CHECKED.format("Pass"), Outcome.SKIPPED),
        (NCCL.format(0), Outcome.SKIPPED),
    ],
)
def test_wrong_data_in_each_row_is_judged_and_not_refused(
    tmp_path: Path, log: str, outcome: Outcome
) -> None:
    path = tmp_path / "log"
    path.write_text(log)
    sources = import_logs.sources_of(path, stated_network("edr"))
    directory = RunDirectory.create(tmp_path / "runs")
    run = import_logs.import_logs(sources, directory, (), SILENT)
    verdicts = conclude(run, thresholds_from({}, "")).verdicts
    assert [one.outcome for one in verdicts if one.rule == "data"] == [outcome]


def test_of_many_files_five_are_told_of() -> None:
    told = refusal([RefusedFile(f"{number}.log") for number in range(9)])
    assert told.endswith("4.log holds no result; and 4 more files")


class Watching(Progress):
    def __init__(self) -> None:
        self.told: list[str] = []

    def trouble(self, text: str) -> None:
        self.told.append(text)


def _tables(taken: list[int]) -> Iterator[Found]:
    for number in range(100):
        taken.append(number)
        yield from read((OSU + b"1 2.00\n4194304 3.00\n").splitlines(keepends=True), "log")


def test_at_the_limit_of_tables_reading_stops_and_says_so_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_logs, "MAX_CURVES", 3)
    taken: list[int] = []
    watching = Watching()
    *curves, last = import_logs.limit_contents(_tables(taken), "log", watching)
    assert (len(curves), len(taken)) == (3, 4)
    assert isinstance(last, UnparsedLine)
    assert last.reason.startswith(f"{UNREADABLE}: a run keeps 3 tables of a file")
    assert [text.partition(":")[0] for text in watching.told] == ["log"]


def test_places_beyond_the_limit_are_counted_and_a_broken_file_is_still_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_logs, "MAX_UNPARSED", 2)
    places = [UnparsedLine(number, "x", "y") for number in range(1, 6)]
    broken = UnparsedLine(6, "", f"{UNREADABLE}: the archive is cut off")
    (curve,) = read((OSU + b"1 2.00\n").splitlines(keepends=True), "log")
    assert isinstance(curve, SuiteCurve)
    told = list(import_logs.limit_contents([*places, curve, broken], "log", SILENT))
    assert told[:4] == [*places[:2], curve, broken]
    assert [one.count for one in told[4:] if isinstance(one, UnparsedLine)] == [3]
