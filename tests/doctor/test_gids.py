"""GIDs of RoCE ports: which is of version 2, and at which index."""

import pytest
from tests import rdma_nodes as nodes
from tests.nodes.discover.test_ports import fabric
from tests.port_trees import DRIVERS, tree
from tests.rdma_nodes import Card

from fabricgauge.doctor.examining import examine
from fabricgauge.model.finding import Checked, Finding, Severity
from fabricgauge.model.inventory import Gid, Inventory
from fabricgauge.model.preflight import Preflight

V1, V2 = "IB/RoCE v1", "RoCE v2"
Table = tuple[tuple[int, str, str], ...]

#: As the kernel fills it: the link-local address first, then that of the network.
USUAL: Table = ((0, "link", V1), (1, "link", V2), (2, "", V1), (3, "", V2))
#: A further address came up before.
LATE: Table = (*USUAL[:2], (2, "172.16.0", V1), (3, "172.16.0", V2), (4, "", V1), (5, "", V2))
OLD: Table = ((0, "link", V1), (1, "", V1))


def preflight(*tables: Table) -> Preflight:
    """A node with one RoCE port for each table."""
    cards: list[tuple[Card, ...]] = [(nodes.ROCE[0]._replace(table=one),) for one in tables]
    of = fabric(*cards)
    known = tuple(
        Inventory(one.name, one, adapters=one.adapters, rdma_ports=one.rdma_ports, facts=one.facts)
        for one in of.nodes
    )
    return Preflight(of, known)


def checked(*tables: Table) -> Checked:
    (found,) = examine(preflight(*tables), {"gid"})
    return found


def findings(*tables: Table) -> tuple[Finding, ...]:
    return checked(*tables).findings


def test_a_port_s_table_is_read_with_index_address_interface_and_kind() -> None:
    (port,) = preflight(USUAL, USUAL).fabric.nodes[1].rdma_ports
    assert port.gids[3] == Gid(3, "0000:0000:0000:0000:0000:ffff:0a1e:0002", "ens1f0np0", V2)


def test_ports_with_one_index_are_sound() -> None:
    assert findings(USUAL, USUAL, USUAL) == ()
    assert findings(OLD, OLD) == ()


def test_another_index_than_on_the_other_nodes_is_named() -> None:
    (found,) = findings(USUAL, LATE, USUAL)
    assert (found.severity, found.where) == (Severity.WARN, "c2:mlx5_0:1")
    assert "index 5" in found.what and found.what.endswith(" 3")
    assert "c2:mlx5_0:1: GID 5 is 10.30.0.2, RoCE v2" in found.evidence


def test_of_two_nodes_that_differ_none_is_odd() -> None:
    (found,) = findings(USUAL, LATE)
    assert found.what.endswith("index of RoCE v2: 3 and 5")
    assert found.nodes == ("c1", "c2")


def test_a_port_without_version_2_is_named() -> None:
    (found,) = findings(USUAL, OLD, USUAL)
    assert (found.severity, found.where) == (Severity.FAIL, "c2:mlx5_0:1")
    assert found.what.startswith("has no GID of RoCE v2 for its address in 10.30.0.0/24")


def test_without_a_table_nothing_is_said() -> None:
    assert checked((), ()).skipped is not None


@pytest.mark.parametrize("driver", DRIVERS)
def test_of_each_driver_s_tree_a_pair_with_unequal_gids_is_named(driver: str) -> None:
    """Its table as it is, and where a further address came up before."""
    said = tree(driver)
    kinds = sorted(
        (int(at.rpartition("/")[2]), kind) for at, kind in said.items() if "/types/" in at
    )
    if not kinds:
        pytest.skip("it is no RoCE: it has no table of GIDs with kinds")
    table: Table = tuple((index, "link" if index < 2 else "", kind) for index, kind in kinds)
    assert findings(table, table) == ()
    (found,) = findings(table, LATE)
    assert found.what.endswith("index of RoCE v2: 3 and 5")
