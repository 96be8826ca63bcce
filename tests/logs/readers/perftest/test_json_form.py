import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.perftest import JSON_DIALECT
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "perftest"
MIB = 2**20
VALID = "24.01--json-write-bw"


def raw(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text()


def found(text: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.encode().splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def test_unquoted_json_of_4_5_is_read() -> None:
    curves, strange = found(raw("4.5--json-send-lat"))
    assert strange == []
    (one,) = curves
    assert (one.benchmark, one.pattern, one.transport) == ("ib_send_lat", "latency", "rdma")
    assert (one.title, one.first_line, one.last_line) == ("Send_Latency_Test", 2, 20)
    point = one.points[0]
    assert (point.message_bytes, point.estimate.samples) == (8, 100)
    assert point.estimate.value == pytest.approx(3995.72e-6)
    assert point.besides["p99.9"] == pytest.approx(8167.33e-6)
    assert one.settings.items() >= {("device", "rxea"), ("mtu", "4096"), ("ibv wr api", "OFF")}


def test_the_unit_that_json_leaves_out_is_told_by_the_message_rate() -> None:
    gigabits = found(raw("4.5--json-write-bw"))[0][0]
    assert gigabits.points[0].estimate.value == pytest.approx(0.21e9 / 8)
    assert "Gb = 10^9 bits" in gigabits.unit_rule
    mebibytes = found(raw(VALID))[0][0]
    assert mebibytes.points[0].estimate.value == pytest.approx(11727.95 * MIB)
    assert "MiB = 2^20" in mebibytes.unit_rule
    assert "message rate" in mebibytes.unit_rule


def test_a_bandwidth_whose_unit_cannot_be_told_is_no_figure() -> None:
    text = raw(VALID).replace("0.187647", "9.187647")
    (one,) = found(text)[0]
    assert (one.points, one.failures[0].trouble) == ((), "other")


def test_valid_json_reads_alike_in_any_layout() -> None:
    whole = json.loads(raw(VALID))
    figures = [one.points[0].estimate for one in found(raw(VALID))[0]]
    for text in (json.dumps(whole), json.dumps(whole, indent=4), json.dumps([whole], indent=1)):
        assert [one.points[0].estimate for one in found(text)[0]] == figures


def test_an_array_of_runs_gives_each_ones_curves() -> None:
    whole = json.loads(raw(VALID))
    assert len(found(json.dumps([whole, whole], indent=1))[0]) == 4


def test_a_receivers_json_is_not_taken_for_the_streams() -> None:
    one = found(raw("4.5--json-send-bw-server"))[0][0]
    assert one.pattern is None
    assert one.points[0].estimate.value == pytest.approx(1.58e9 / 8)


@pytest.mark.parametrize("lost", ["MsgSize", "results", "RDMA_Write_BW_Test"])
def test_an_object_that_lacks_what_matters_is_told_of(lost: str) -> None:
    curves, strange = found(raw(VALID).replace(lost, "Nothing"))
    assert curves == []
    assert strange


def test_an_object_cut_off_is_told_of() -> None:
    text = raw("4.5--json-write-bw")
    curves, strange = found(text[: text.index("BW_peak")])
    assert curves == []
    assert strange


def test_inf_in_json_is_a_failure() -> None:
    (one,) = found(raw("4.5--json-send-lat").replace("3995.72", "inf"))[0]
    assert (one.points, one.failures[0].trouble) == ((), "not a number")


@given(st.data())
def test_broken_json_never_raises(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([raw(VALID), raw("4.5--json-send-lat")]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    middle = data.draw(st.text(alphabet='0123456789.-infa{}",:\n', max_size=20))
    broken = text[:start] + middle + text[end:]
    JSON_DIALECT.recognised(broken)
    for one in JSON_DIALECT.read(broken, 1, lambda *_: None):
        assert all(point.estimate.value > 0 for point in one.points)
