"""What of the head's environment goes to the nodes: launchers hand on all that they have.

Hydra and srun give every rank the environment that they were started in (mpiexec of MPICH 5.0,
``-genvall`` by default; srun(1), ``--export=ALL``), and with it whatever token or key a user's
shell holds. So they are started with what MPI, its networks and the system's libraries read, and
no more. Names of a site's own are added by ``FABRICGAUGE_HAND_ON``.
"""

from collections.abc import Mapping

#: Where programs, libraries, homes and drafts are, and in which language to speak (environ(7),
#: ld.so(8), locale(7)); ssh's and Kerberos' own way to the user's credentials, which stay here.
NAMES = frozenset((
    "HOME", "HOST", "HOSTNAME", "KRB5CCNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL",
    "SSH_AUTH_SOCK", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
))  # fmt: skip

#: By who reads them: the system; MPIs and their launchers; schedulers; what carries messages;
#: what else a rank's libraries are tuned by.
PREFIXES = (
    "LC_", "LD_", "MALLOC_", "GLIBC_", "FABRICGAUGE_",
    "MPI", "I_MPI_", "HYDRA_", "HYDI_", "OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMI_", "PMIX_", "MV2_",
    "MVP_", "ROMIO_", "PALS_", "CRAY_",
    "SLURM_", "SRUN_", "SBATCH_",
    "UCX_", "UCC_", "FI_", "PSM_", "PSM2_", "PSM3_", "HFI_", "IBV_", "MLX", "RDMA", "EFA_", "CXI_",
    "HCOLL_", "SHARP_", "NCCL_", "RCCL_",
    "OMP_", "KMP_", "GOMP_", "CUDA_", "NVIDIA_", "HIP_", "HSA_", "ROCR_", "ASAN_", "LSAN_", "TSAN_",
    "UBSAN_",
)  # fmt: skip

#: Ends of names that hold a secret, such as NVIDIA_API_KEY and SLURM_JWT: no rank needs them.
SECRETS = (
    "_APIKEY", "_CREDENTIAL", "_CREDENTIALS", "_JWT", "_KEY", "_PASSWD", "_PASSWORD", "_SECRET",
    "_TOKEN",
)  # fmt: skip

#: Proves to Slurm who somebody is (slurm.conf(5), AuthAltTypes): Slurm's own programs need it.
SLURM_CREDENTIAL = "SLURM_JWT"

MORE = "FABRICGAUGE_HAND_ON"


def handed_on(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names that go to the nodes, sorted. A secret goes only if the site names it."""
    more = environment.get(MORE, "").replace(",", " ").split()
    wanted = NAMES.union(more)
    return tuple(
        sorted(
            name
            for name in environment
            if name.isidentifier()
            and (name in wanted or (name.startswith(PREFIXES) and not name.endswith(SECRETS)))
        )
    )


def kept_back(environment: Mapping[str, str]) -> frozenset[str]:
    """The names that do not."""
    return frozenset(environment).difference(handed_on(environment))
