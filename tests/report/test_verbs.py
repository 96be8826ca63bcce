"""A report of a launch whose data went over verbs says by what, and what that took."""

import msgspec
from tests.report import sample

from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import UsedPort, UsedVerbs, VerbsConnection
from fabricgauge.report.formats import report

PORT = UsedPort(0, "mlx5_0", 1, "Ethernet", 3, "::ffff:10.0.0.1", "RoCE v2", 0, 4096, "22.31.1014")
USED = UsedVerbs("/lib/libibverbs.so.1", "rc", 4096, 220, 64, 0, 0, (PORT,))
MADE = VerbsConnection(
    1, 256, 0.25, 0.125, 2_048_000, 65_536, 3e-3, 1e-3, 9, (2e-3, 7e-3), (0.5e-3, 4e-3)
)


def judged() -> Judged:
    usual = sample.judged()
    first, *rest = usual.run.launches
    assert first.header
    case, *others = first.measurements
    over = msgspec.structs.replace(
        first,
        header=msgspec.structs.replace(first.header, transport=USED),
        measurements=(msgspec.structs.replace(case, connections=(MADE,)), *others),
    )
    run = msgspec.structs.replace(usual.run, launches=(over, *rest))
    return msgspec.structs.replace(usual, run=run)


def test_the_page_names_transport_ports_and_what_queue_pairs_took() -> None:
    page = report(judged(), "html")
    assert "Data over verbs RC by mlx5_0:1 (GID 3), path MTU 4096 B." in page
    for figure in ("250 ms", "125 ms", "65.54 kB", "3.00 ms (2.00 ms to 7.00 ms)", "1.00 ms"):
        assert figure in page.replace("\N{NO-BREAK SPACE}", " "), figure


def test_queue_pairs_of_an_adapter_are_computed_from_what_one_took() -> None:
    page = report(judged(), "html").replace("\N{NO-BREAK SPACE}", " ")
    assert "memory by the 8 kB that each of 256 took" in page
    # 64 ranks on each of 128 nodes: 64² x 128 queue pairs of 8 kB, 64 x 128, 64, and 1.
    for figures in ("524,288, 4.194 GB", "8,192, 65.54 MB", "64, 512 kB", "1, 8 kB"):
        assert figures in page, figures


def test_a_report_over_mpi_has_no_word_of_queue_pairs() -> None:
    assert "queue pairs" not in report(sample.judged(), "html")
