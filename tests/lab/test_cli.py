"""The words of `fabricgauge lab`."""

import pytest
from click.testing import CliRunner

from fabricgauge.cli.lab import lab, parse_fault, parse_network
from fabricgauge.lab import up as up_module
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabFault
from fabricgauge.model.errors import UsageError


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], LabSpec()),
        (["--nodes", "3"], LabSpec(nodes=("c1", "c2", "c3"))),
        (["--rdma", "roce"], LabSpec(rdma="roce")),
        (["--rdma", "roce", "--slurm"], LabSpec(rdma="roce", slurm=True)),
    ],
)
def test_up_asks_for_the_lab_that_the_words_say(
    words: list[str], asked: LabSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs: list[LabSpec] = []

    def refused(spec: LabSpec, _tell: object) -> None:
        specs.append(spec)
        raise UsageError("planted")

    monkeypatch.setattr(up_module, "up", refused)
    CliRunner().invoke(lab, ["up", *words])
    assert specs == [asked]


def test_network_is_name_rate_and_mtu() -> None:
    assert parse_network("net1:1G") == NetworkSpec("net1", 1e9, 1500)
    assert parse_network("ib:2.5G:9000") == NetworkSpec("ib", 2.5e9, 9000)


@pytest.mark.parametrize(
    "text", ["", "net1", "net1:fast", "net1:1G:big", "net1:1G:9000:1", "a:1G:²"]
)
def test_network_fails_when_it_is_not_name_rate_and_mtu(text: str) -> None:
    with pytest.raises(UsageError):
        parse_network(text)


def test_fault_is_what_the_words_say() -> None:
    assert parse_fault("link-down", "c1", "net1", None) == LabFault("link-down", "c1", "net1")
    assert parse_fault("rate", "c1", "net1", "100M") == LabFault("rate", "c1", "net1", 1e8)
    assert parse_fault("rate-in", "c1", "net1", "100M") == LabFault("rate-in", "c1", "net1", 1e8)
    assert parse_fault("rate-out", "c1", "net1", "1G") == LabFault("rate-out", "c1", "net1", 1e9)
    assert parse_fault("mtu", "c1", "net1", "9000") == LabFault("mtu", "c1", "net1", 9000)
    assert parse_fault("port-rate", "c1", "net1", "100M") == LabFault(
        "port-rate", "c1", "net1", 1e8
    )
    assert parse_fault("address", "c1", "net1", "10.0.0.1/8") == LabFault(
        "address", "c1", "net1", text="10.0.0.1/8"
    )
    assert parse_fault("hosts", "c1", "net1", "c2=10.0.0.9") == LabFault(
        "hosts", "c1", "net1", text="c2=10.0.0.9"
    )
    assert parse_fault("loss", "c1", "net1", "25%") == LabFault("loss", "c1", "net1", 0.25)
    assert parse_fault("drops", "c1", "net1", "50") == LabFault("drops", "c1", "net1", 50)
    assert parse_fault("memlock", "c1", "", "65536") == LabFault("memlock", "c1", amount=65536)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("rate", None), ("mtu", None), ("link-down", "1G"), ("link-up", "1G"), ("address", None),
        ("hosts", "10.0.0.9"), ("loss", "much"), ("drops", ""), ("memlock", "64K"),
    ],
)  # fmt: skip
def test_fault_fails_when_its_value_is_missing_or_not_of_its_kind(
    kind: str, value: str | None
) -> None:
    with pytest.raises(UsageError, match=f"lab fault {kind}"):
        parse_fault(kind, "c1", "net1", value)


def test_fault_list_names_every_kind() -> None:
    shown = CliRunner().invoke(lab, ["fault", "--name", "t-lab-none", "--list"])
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.output.splitlines()] == [
        "link-down", "link-up", "rate", "rate-in", "rate-out", "port-rate", "mtu",
        "address", "hosts", "loss", "drops", "memlock",
    ]  # fmt: skip
