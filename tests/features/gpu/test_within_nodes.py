"""nvbandwidth's matrices beside what nvidia-smi says joins the GPUs; slow ways are planted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked, fabricgauge
from tests.judge.test_imported import run

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.logs.beside_logs import Companions, read_printout
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"
H100 = (FIXTURES / "nvbandwidth" / "recorded-0.4--eight-h100.out").read_text()
A6000 = (FIXTURES / "nvbandwidth" / "recorded-0.8--six-a6000.out").read_text()
H200 = (FIXTURES / "nvbandwidth" / "recorded-0.8--one-h200.out").read_text()
SLOT = (FIXTURES / "nvidia-smi" / "580--one-h200-query.out").read_text()
TOPOLOGY = (FIXTURES / "nvidia-smi" / "550--h100-gpus.out").read_text()
#: What joins the six GPUs of the published matrix is not published: made up after its figures.
TWO_SWITCHES = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tCPU Affinity\tNUMA Affinity\n" + "".join(
    f"GPU{row}\t"
    + "\t".join(" X " if row == n else "PIX" if row // 3 == n // 3 else "SYS" for n in range(6))
    + f"\t0-63\t{row // 3}\n"
    for row in range(6)
)
QUERY = "index, name, pci.bus_id, pcie.link.gen.max, pcie.link.width.max\n" + "".join(
    f"{n}, NVIDIA RTX A6000, 00000000:{n + 1:02X}:00.0, 4, 16\n" for n in range(6)
)
Judge = Callable[..., Verdict]
HIVES = (FIXTURES / "rocm-smi" / "recorded--eight-gpus-two-hives.out").read_text()


def of_amd(product: str = "AMD Instinct MI300X", slow: tuple[int, int] = (-1, -1)) -> str:
    """A matrix as rocm-bandwidth-test prints it, of the GPUs of the recorded topology; its figures
    are made up after published ones: 48 GB/s by one link of an MI300X, 22 between sockets."""

    def cell(row: int, column: int) -> str:
        rate = 48.0 if row // 4 == column // 4 else 22.0
        return "900.0" if row == column else str(rate / 2 if (row, column) == slow else rate)

    devices = [f"          Device: {n},  {product},  GPU-{n},  {n + 5:02x}:0.0" for n in range(8)]
    table = [f"          {row}  " + "  ".join(cell(row, n) for n in range(8)) for row in range(8)]
    return "\n".join([
        "          RocmBandwidthTest Version: 2.6.0", *devices,
        "          Unidirectional copy peak bandwidth GB/s",
        "          D/D  " + "  ".join(map(str, range(8))), *table, "",
    ])  # fmt: skip


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """The verdict on the first matrix of a log, with printouts beside it."""

    def judge(log: str, *printouts: str) -> Verdict:
        beside = Companions()
        for number, text in enumerate(printouts):
            path = tmp_path / f"printout-{number}"
            path.write_text(text)
            parts = read_printout(path)
            assert parts, text
            beside.printouts.append((path.name, parts))
        found = beside.join_evidence(read([log.encode()], "log"))
        curves = [one for one in found if isinstance(one, SuiteCurve)]
        verdicts = judgement(Context(run(curves[0], network=None), {})).verdicts
        return next(one for one in verdicts if one.rule == "fraction")

    return judge


def test_sound_nvlinks_pass_by_their_lowest_way(judged: Judge) -> None:
    said = judged(H100, TOPOLOGY)
    assert said.outcome is Outcome.PASS
    assert said.summary.startswith("all 56 paths")
    assert "GPU 0 → GPU 6 (NV18)" in said.summary
    assert said.figure is not None and said.figure.value == pytest.approx(370.26 / (18 * 26.562))
    assert said.evidence == (
        "NV18 of 478,116 MB/s each way: 56 paths, 370,260 MB/s to 372,960 MB/s,"
        " median 370,900 MB/s",
    )


def test_a_slow_pair_is_named(judged: Judge) -> None:
    """By the figure of a fault that the source of the matrix quotes."""
    slow = H100.replace("1    370.90       N/A", "1    162.45       N/A")
    said = judged(slow, TOPOLOGY)
    assert said.outcome is Outcome.FAIL
    assert said.summary.startswith("1 of 56 paths")
    assert "GPU 1 → GPU 0 (NV18): 162,450 MB/s of 478,116 MB/s, 34.0 %" in said.summary
    assert "nvlink -s" in said.remedy


def test_the_gpu_of_all_slow_ways_is_named(judged: Judge) -> None:
    row = next(line for line in H100.splitlines() if line.startswith("4    "))
    said = judged(H100.replace(row, row.replace("37", "30")), TOPOLOGY)
    assert said.outcome is Outcome.WARN
    assert said.summary.startswith("7 of 56 paths")
    assert "all of GPU 4; GPU 4 → GPU " in said.summary


def test_the_printed_rate_of_a_link_goes_before_the_products(judged: Judge) -> None:
    links = "".join(
        f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-{n})\n\t Link 0: 50 GB/s\n" for n in range(8)
    )
    assert judged(H100, TOPOLOGY, links).outcome is Outcome.FAIL


@pytest.mark.parametrize("printouts", [(), (SLOT,)])
def test_copies_between_host_and_gpu_are_held_against_the_slot(
    judged: Judge, printouts: tuple[str, ...]
) -> None:
    """By the product's slot, or by that of nvidia-smi; one lane carries 32 GT/s × 128 / 130."""
    verdict = judged(H200, *printouts)
    assert verdict.outcome is Outcome.PASS
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(55.44e9 / (16 * 32e9 * 128 / 130 / 8))
    assert verdict.summary.startswith("host → GPU 0 (PCIe): 55,440 MB/s of 63,015 MB/s")


def test_a_gpu_whose_slot_has_half_its_lanes_is_named(judged: Judge) -> None:
    two = H200.replace(
        "           0\n 0     55.44", "           0         1\n 0     55.44     27.30"
    )
    verdict = judged(two)
    assert verdict.outcome is Outcome.FAIL
    assert "1 of 2 paths between host and GPUs is slow" in verdict.summary
    assert "host → GPU 1 (PCIe): 27,300 MB/s" in verdict.summary
    assert "PCIe slot" in verdict.cause


def test_a_gpu_that_no_pci_express_joins_to_the_host_has_no_ceiling(judged: Judge) -> None:
    verdict = judged(H200.replace("NVIDIA H200", "NVIDIA GH200 480GB").replace("55.44", "380.2"))
    assert verdict.outcome is Outcome.SKIPPED


def test_waived_tests_ask_for_no_network(judged: Judge) -> None:
    waived = (FIXTURES / "nvbandwidth" / "recorded-0.8--one-h200-waived.out").read_text()
    verdict = judged(waived)
    assert verdict.outcome is Outcome.SKIPPED
    assert "waived by the suite" in verdict.summary and not verdict.remedy


def test_an_arrow_to_the_left_turns_rows_and_columns(judged: Judge) -> None:
    slow = H100.replace("1    370.90       N/A", "1    162.45       N/A").replace(
        "GPU(row) -> GPU(column)", "GPU(row) <- GPU(column)"
    )
    assert "GPU 0 → GPU 1" in judged(slow, TOPOLOGY).summary


def test_pcie_below_a_switch_and_between_sockets_are_told_apart(judged: Judge) -> None:
    said = judged(A6000, TWO_SWITCHES, QUERY)
    assert said.outcome is Outcome.PASS
    assert said.evidence[0].startswith("PIX of 31,508 MB/s each way: 12 paths")
    slow = A6000.replace(" 3     21.82     21.82", " 3     21.82     16.00")
    said = judged(slow, TWO_SWITCHES, QUERY)
    assert said.outcome is Outcome.FAIL
    assert "GPU 3 → GPU 1 (SYS): 16,000 MB/s" in said.summary
    narrow = QUERY.replace("4, 16", "3, 16")
    assert judged(A6000, TWO_SWITCHES, narrow).outcome is Outcome.WARN  # more than gen 3 carries


def test_an_unknown_product_is_judged_beside_like_ways_only(judged: Judge) -> None:
    assert judged(H100.replace("H100 80GB HBM3", "X1"), TOPOLOGY).outcome is Outcome.PASS
    slow = H100.replace("1    370.90       N/A", "1    162.45       N/A")
    said = judged(slow.replace("H100 80GB HBM3", "X1"), TOPOLOGY)
    assert said.outcome is Outcome.FAIL
    assert "43.8 % of the median" in said.summary


def test_places_on_the_bus_match_numbers_that_differ(judged: Judge) -> None:
    log = A6000.replace(
        "\nmemcpy CE",
        "".join(f"Device {n}: NVIDIA RTX A6000 (00000000:{6 - n:02x}:00)\n" for n in range(6))
        + "\nmemcpy CE",
    ).replace(" 0       N/A     26.34", " 0       N/A     13.00")
    said = judged(log, TWO_SWITCHES, QUERY)
    assert "GPU 0 → GPU 1 (PIX): 13,000 MB/s" in said.summary


def test_without_a_printout_or_with_that_of_others_nothing_is_judged(judged: Judge) -> None:
    said = judged(H100)
    assert said.outcome is Outcome.SKIPPED
    assert "unknown" in said.summary
    assert "nvidia-smi topo -m" in said.remedy
    assert "lists 6:" in judged(H100, TWO_SWITCHES).summary


def test_amd_s_ways_are_judged_by_link_and_weight(judged: Judge) -> None:
    said = judged(of_amd(), HIVES)
    assert said.outcome is Outcome.PASS, said.summary
    assert said.evidence[0].startswith("XGMI 15 of 64,000 MB/s each way: 24 paths")
    assert said.evidence[1].startswith("PCIE 72")


@pytest.mark.parametrize(("slow", "word"), [((1, 2), "XGMI 15"), ((6, 0), "PCIE 72")])
def test_a_slow_way_between_amd_s_gpus_is_named(
    judged: Judge, slow: tuple[int, int], word: str
) -> None:
    said = judged(of_amd(slow=slow), HIVES)
    assert said.outcome is Outcome.FAIL
    assert f"GPU {slow[0]} → GPU {slow[1]} ({word})" in said.summary


def test_links_of_unknown_number_are_not_compared(judged: Judge) -> None:
    said = judged(of_amd("AMD Instinct MI250X"), HIVES)
    assert said.outcome is Outcome.SKIPPED
    assert "how many links" in said.summary


def test_a_log_that_holds_the_matrix_is_no_printout(tmp_path: Path) -> None:
    (tmp_path / "both").write_text(TOPOLOGY + H100)
    assert read_printout(tmp_path / "both") is None


def test_import_joins_what_is_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "nvb.log").write_text(H100.replace("1    370.90       N/A", "1    162.45       N/A"))
    (folder / "topo.txt").write_text(TOPOLOGY)
    done = fabricgauge("import", str(folder), "-o", str(tmp_path / "runs"))
    checked = Checked(done, tmp_path / "runs")
    assert checked.status == 1, checked.text
    assert "GPU 1 → GPU 0" in checked.words("fraction")
    assert (checked.path / "raw" / "nvidia-smi" / "topo.txt").read_text() == TOPOLOGY
    (folder / "nvb.log").write_text(H100)
    assert fabricgauge("import", str(folder), "-o", str(tmp_path / "runs")).returncode == 0


def test_a_printout_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(TOPOLOGY)
    done = fabricgauge("import", str(tmp_path / "topo.txt"), "-o", str(tmp_path / "runs"))
    assert done.returncode in (2, 3)


#: Prints the file of its own name in the folder of this host, as far as there is one.
STAND_IN = """#!/bin/sh
cat "$(dirname "$0")/$(uname -n).$(basename "$0")" || exit 3
"""


@pytest.mark.lab
def test_each_node_s_program_is_started_and_its_slow_way_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    for name in ("nvbandwidth", "nvidia-smi"):
        (tool / name).write_text(STAND_IN)
        (tool / name).chmod(0o755)
    for node in ("c1", "c2"):
        (tool / f"{node}.nvidia-smi").write_text(TOPOLOGY)
    (tool / "c1.nvbandwidth").write_text(H100)
    (tool / "c2.nvbandwidth").write_text(H100.replace("1    370.90", "1    162.45"))
    monkeypatch.setenv("PATH", f"{tool}:{os.environ['PATH']}")
    asked = ("check", "--lab", "--tool", "nvbandwidth", "-o", str(tmp_path / "runs"))
    checked = Checked(fabricgauge(*asked), tmp_path / "runs")
    assert checked.status == 1, checked.text
    failed = [v for v in checked.verdicts if v["rule"] == "fraction" and v["outcome"] == "FAIL"]
    assert len(failed) == 1 and "GPU 1 → GPU 0" in failed[0]["summary"]
    assert "c2/nvbandwidth.out" in str(failed[0])

    (tool / "c1.nvbandwidth").unlink()
    done = fabricgauge(*asked)
    assert "c1: nvbandwidth failed (exit status 3)" in " ".join(done.stderr.split())
    assert done.returncode == 1, done.stderr


def test_a_node_with_one_gpu_is_judged_by_its_copies_to_and_from_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As recorded on a machine with one H200, whose NVLinks are down: nvlink -s prints nothing."""
    tool = tmp_path / "tool"
    tool.mkdir()
    waived = (FIXTURES / "nvbandwidth" / "recorded-0.8--one-h200-waived.out").read_text()
    head, copies = waived.partition("Running ")[0], H200.partition("Running ")[2]
    programs = {"nvbandwidth": f"{head}Running {copies}", "nvidia-smi": SLOT}
    for name, output in programs.items():
        (tool / name).write_text(STAND_IN)
        (tool / name).chmod(0o755)
        (tool / f"{os.uname().nodename}.{name}").write_text(output)
    monkeypatch.setenv("PATH", f"{tool}:{os.environ['PATH']}")
    done = fabricgauge(
        "check", "--launcher", "local", "--tool", "nvbandwidth", "-o", str(tmp_path / "runs")
    )
    checked = Checked(done, tmp_path / "runs")
    assert checked.status == 0, checked.text
    assert "host → GPU 0 (PCIe): 55,440 MB/s" in checked.words("fraction")
    assert {verdict["outcome"] for verdict in checked.verdicts} == {"PASS", "SKIPPED"}


@pytest.mark.lab
def test_amd_s_program_beside_rocm_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    for name, said in (("rocm-bandwidth-test", of_amd()), ("rocm-smi", HIVES)):
        (tool / name).write_text(STAND_IN)
        (tool / name).chmod(0o755)
        for node in ("c1", "c2"):
            (tool / f"{node}.{name}").write_text(said)
    monkeypatch.setenv("PATH", f"{tool}:{os.environ['PATH']}")
    asked = ("check", "--lab", "--tool", "rocm-bandwidth-test", "-o", str(tmp_path / "runs"))
    checked = Checked(fabricgauge(*asked), tmp_path / "runs")
    assert checked.status == 0, checked.text
    assert "PCIE 72" in checked.words("fraction")


def test_an_option_of_networks_is_refused(tmp_path: Path) -> None:
    done = fabricgauge("check", "-w", "c1", "--tool", "nvbandwidth", "--network", "net1")
    assert done.returncode == 2
    assert "--network has no effect on nvbandwidth" in " ".join(done.stderr.split())


def test_a_missing_program_is_told(tmp_path: Path) -> None:
    asked = ("check", "--launcher", "local", "--tool", "nvbandwidth", "-o", str(tmp_path))
    done = fabricgauge(*asked, PATH="/usr/bin:/bin")
    assert done.returncode == 3, done.stderr
    assert "nvbandwidth failed (exit status 127)" in " ".join(done.stderr.split())
