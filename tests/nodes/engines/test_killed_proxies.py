"""A launch on this machine leaves nothing in /tmp, although its proxy was killed."""

import os
import subprocess

import pytest

from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.engines.find import embedded_mpi
from fabricgauge.nodes.launch.mpi_impls import start_command

#: Runs its arguments with a /tmp of its own, and lists what they leave there.
OWN_TMP = 'mount -t tmpfs none /tmp || exit 9; timeout 60 "$@" >/dev/null 2>&1; ls /tmp'
#: The parent of a rank is the proxy.
KILLS_ITS_PROXY = ("sh", "-c", "sleep 0.2; kill -9 $PPID; sleep 0.2")


@pytest.mark.engine
@pytest.mark.parametrize("planted", [False, True])
def test_a_killed_proxy_leaves_a_topology_file_only_without_the_variable(planted: bool) -> None:
    launch = PlannedLaunch(1, None, None, (os.uname().nodename,) * 2, ())
    access = HostAccess("local", (), bind="core")  # a proxy that binds makes the file at once
    wanted = start_command(embedded_mpi(), launch, access, KILLS_ITS_PROXY)
    own = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "-Urm")
    env = {**os.environ, **wanted.env}
    if planted:
        del env["HWLOC_XMLFILE"]
    done = subprocess.run(
        [*own, "sh", "-c", OWN_TMP, "sh", *wanted.argv], env=env, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    left = done.stdout.split()
    assert [name[:20] for name in left] == ["hydra_hwloc_xmlfile_"] * planted
