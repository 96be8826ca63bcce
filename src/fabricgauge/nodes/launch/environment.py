"""Select the variables of the head's environment that go to the nodes.

Hydra and srun give each rank their whole environment (mpiexec of MPICH 5.0, ``-genvall`` by
default; srun(1), ``--export=ALL``), with all tokens and keys of the user's shell. So they get
only the variables that MPI, its networks and the system's libraries read. A site adds names by
``FABRICGAUGE_HAND_ON``.
"""

from collections.abc import Mapping

#: Paths of programs, libraries, homes and temporary files, and the language (environ(7), ld.so(8),
#: locale(7)); the references of ssh and Kerberos to credentials, which stay on this machine.
NAMES = frozenset((
    "HOME", "HOST", "HOSTNAME", "KRB5CCNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL",
    "SSH_AUTH_SOCK", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
))  # fmt: skip

#: Grouped by their readers: the system; MPIs and their launchers; schedulers; network libraries;
#: other libraries of a rank.
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

#: Ends of the names of secrets, such as NVIDIA_API_KEY and SLURM_JWT, which no rank needs.
SECRETS = (
    "_APIKEY", "_CREDENTIAL", "_CREDENTIALS", "_JWT", "_KEY", "_PASSWD", "_PASSWORD", "_SECRET",
    "_TOKEN",
)  # fmt: skip

#: Identifies a user to Slurm (slurm.conf(5), AuthAltTypes): Slurm's own programs need it.
SLURM_CREDENTIAL = "SLURM_JWT"

MORE = "FABRICGAUGE_HAND_ON"


def forwarded_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that go to the nodes, sorted. A secret goes only if the site names it."""
    site_names = environment.get(MORE, "").replace(",", " ").split()
    allowed = NAMES.union(site_names)
    return tuple(
        sorted(
            name
            for name in environment
            if name.isidentifier()
            and (name in allowed or (name.startswith(PREFIXES) and not name.endswith(SECRETS)))
        )
    )


def withheld_names(environment: Mapping[str, str]) -> frozenset[str]:
    return frozenset(environment).difference(forwarded_names(environment))
