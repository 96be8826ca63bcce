"""Callgrind's file, written with --dump-instr=yes and without compression."""

from collections import Counter

from benchmarks.callgrind import Instruction, executions
from benchmarks.engine_instructions import in_every

TEXT = """\
# callgrind format
version: 1
positions: instr
events: Ir
ob=/opt/engine
fl=???
fn=round
0x10 500
0x14 500
cob=/usr/lib/libmpi.so
cfn=MPI_Send
calls=500 0x9000
0x18 123456
0x18 500
0x1c 3
fn=startup
0x30 1000
ob=/usr/lib/libmpi.so
fn=MPI_Send
0x9000 77777
totals: 80280
"""


def test_only_the_programs_own_instructions_count() -> None:
    found = executions(TEXT, "engine")
    assert {one.address for one in found} == {"0x10", "0x14", "0x18", "0x1c", "0x30"}
    assert {one.function for one in found} == {"round", "startup"}


def test_the_cost_of_a_called_function_is_not_the_callers() -> None:
    assert executions(TEXT, "engine")[Instruction("round", "0x18")] == 500


def test_what_runs_more_than_once_in_a_round_trip_counts_as_often() -> None:
    runs = Counter({Instruction("a", "0x1"): 20_010, Instruction("a", "0x2"): 10_000})
    runs[Instruction("b", "0x3")] = 9_999
    assert in_every(runs, 10_000) == 3


def test_a_file_that_broke_off_is_read_as_far_as_it_goes() -> None:
    assert executions(TEXT[:120], "engine")
    assert executions("0x", "engine") == Counter()
