"""What rocm-smi says joins the GPUs of a node, as others recorded it."""

from hypothesis import given
from hypothesis import strategies as st
from tests.nodes.discover.printouts.reading import parse, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import GpuLink


def test_ways_have_their_type_and_weight() -> None:
    parts = read("rocm-smi", "recorded--eight-gpus-two-hives")
    words = {(one.gpu, one.other): one.word for one in parts.gpu_links}
    assert len(words) == 8 * 7
    assert (words[0, 3], words[3, 0], words[0, 4]) == ("XGMI 15", "XGMI 15", "PCIE 72")
    assert [(one.index, one.numa_node) for one in parts.gpus] == [(n, n // 4) for n in range(8)]
    assert parts.troubles == ()


def test_an_older_release_has_no_brackets() -> None:
    parts = read("rocm-smi", "recorded--four-gpus-one-hive")
    assert {one.word for one in parts.gpu_links} == {"XGMI 15"}
    assert [one.numa_node for one in parts.gpus] == [0, 1, 2, 3]


def test_product_and_bus_join_the_gpu_where_they_were_asked_for() -> None:
    (gpu,) = parse("rocm-smi", "GPU[0]\t\t: PCI Bus: 0000:23:00.0\n"
                   "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI100\n").gpus  # fmt: skip
    assert (gpu.bus, gpu.product) == ("0000:23:00.0", "AMD Instinct MI100")
    assert isinstance(gpu.numa_node, Skipped)


def test_without_weights_the_type_alone_is_the_word() -> None:
    text = raw("rocm-smi", "recorded--four-gpus-one-hive")
    alone = "=== Link Type" + text.partition("= Link Type")[2]
    assert GpuLink(0, 1, "XGMI") in parse("rocm-smi", alone).gpu_links


def test_what_is_no_printout_is_a_trouble() -> None:
    assert parse("rocm-smi", "no GPU here\n").troubles != ()


@given(st.data())
def test_a_printout_that_is_cut_off_says_nothing_else(data: st.DataObject) -> None:
    text = raw("rocm-smi", "recorded--eight-gpus-two-hives")
    whole = {(one.gpu, one.other): one.word for one in parse("rocm-smi", text).gpu_links}
    cut = parse("rocm-smi", text[: data.draw(st.integers(0, len(text)))])
    for one in cut.gpu_links:
        assert whole[one.gpu, one.other].startswith(one.word.split()[0][:1])
