import msgspec
import pytest

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Member, Network
from fabricgauge.plan.plan import Wanted, apart, host_reference, plan
from fabricgauge.plan.profiles import PROFILES

UNKNOWN = Skipped("no rate")


def network(name: str) -> Network:
    members = (Member("c1", "eth0", "10.0.0.1", 1500), Member("c2", "eth0", "10.0.0.2", 1500))
    return Network(name, f"{name}-subnet", "ethernet", 1e9, "declared", members)


def wanted(sizes: tuple[int, ...] = (0, 8, 65536)) -> Wanted:
    return Wanted(PROFILES["standard"], ("latency", "bandwidth"), sizes, ("c1", "c2"), False)


def test_launches_alternate_between_networks() -> None:
    made = plan(wanted(), ((network("a"), UNKNOWN), (network("b"), UNKNOWN)))
    assert [launch.network for launch in made.launches] == ["a", "b", "a", "b", "a", "b"]
    assert [launch.number for launch in made.launches] == [1, 2, 3, 4, 5, 6]


def test_an_unpinned_launch_names_no_network() -> None:
    made = plan(wanted(), ((None, UNKNOWN),))
    assert {launch.network for launch in made.launches} == {None}
    assert {launch.subnet for launch in made.launches} == {None}


@pytest.mark.parametrize("sizes", [(), (-1,), (2**40,)])
def test_sizes_out_of_range_are_a_usage_error(sizes: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="size"):
        plan(wanted(sizes), ((network("a"), UNKNOWN),))


def test_the_host_reference_repeats_streaming_cases_on_one_node() -> None:
    made = plan(wanted((1024, 65536, 2**20)), ((network("a"), UNKNOWN),))
    launch = host_reference(9, "c1", "a", made)
    assert launch.nodes == ("c1", "c1")
    assert launch.network == "loopback:c1"
    assert {case.pattern for case in launch.cases} == {"bandwidth"}
    assert max(case.message_bytes for case in launch.cases) == 2**20


def test_threads_have_launches_of_their_own() -> None:
    words = ("latency", "threads_latency:4", "put_latency:fence", "threads_bandwidth")
    asked = msgspec.structs.replace(wanted((8,)), patterns=words)
    made = plan(asked, ((network("a"), UNKNOWN),))
    measured = [{case.pattern for case in launch.cases} for launch in made.launches]
    assert measured == [
        {"latency", "put_latency"}, {"threads_latency", "threads_bandwidth"},
    ] * PROFILES["standard"].launches  # fmt: skip
    assert [launch.number for launch in made.launches] == [1, 2, 3, 4, 5, 6]


def test_patterns_of_one_kind_share_a_launch() -> None:
    assert apart(("latency", "get_bandwidth")) == (("latency", "get_bandwidth"),)
    assert apart(("threads_latency:2",)) == (("threads_latency:2",),)
