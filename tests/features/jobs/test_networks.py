"""The networks that a job is asked to measure, before its nodes are known."""

import pytest

from fabricgauge.features.jobs.request import plan_of_jobs
from fabricgauge.model.batch import EACH_PORTS, Batch, Request
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Topology
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import is_loopback


def launches_on(*networks: str) -> list[PlannedLaunch]:
    batch = Batch(Request(2), "slurm", None, False, (), networks, False, Topology())
    plan = plan_of_jobs(batch, None)
    return [launch for launch in plan.launches if not is_loopback(launch.network)]


@pytest.mark.parametrize(
    ("name", "technologies"),
    [
        ("infiniband", {"infiniband"}),
        ("roce-v2", {"roce-v2"}),
        ("roce", {"roce-v1", "roce-v2"}),  # the name in reports of check
        ("slingshot", {"slingshot"}),
    ],
)
def test_ports_are_named_by_their_technology(name: str, technologies: set[str]) -> None:
    launches = launches_on(name)
    assert {launch.technology for launch in launches} == technologies
    assert {launch.ports for launch in launches} == {(EACH_PORTS,)}


@pytest.mark.parametrize("subnet", ["10.10.0.0/16", "fd77:0:0:1::/64"])
def test_subnets_are_named_in_both_versions_of_ip(subnet: str) -> None:
    assert {(one.subnet, one.technology) for one in launches_on(subnet)} == {(subnet, "")}


def test_network_fails_when_its_name_means_nothing_before_the_job_runs() -> None:
    with pytest.raises(UsageError, match="infiniband, roce-v1, .*roce"):
        launches_on("mlx5_0")
