"""What every rank or end of a suite's program runs first: it says where it is.

The ranks themselves tell their placement in the very launch that measures, as the
engine's ranks do; then the suite's program takes their place.
"""

from collections.abc import Mapping, Sequence

from fabricgauge.model.run import RANK_SAYS

#: The script's arguments: the rank where no MPI tells it, HOST=INTERFACE for each node,
#: ``--``, and the program with its arguments. All are data: none is read as shell text.
#: Variables: PMI_RANK of MPICH and Intel MPI, OMPI_COMM_WORLD_RANK of Open MPI.
_SCRIPT = (
    "r=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$1}}}; shift; h=$(uname -n); i=; "
    'while [ "$1" != -- ]; do case $1 in "$h="*) i=${1#*=} ;; esac; shift; done; shift; '
    '[ -z "$i" ] || export FI_TCP_IFACE="$i" UCX_NET_DEVICES="$i"; '
    "b=; read -r b </proc/sys/kernel/random/boot_id; n=$(readlink /proc/self/ns/net); "
    "c=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status); "
    "p=$(cut -d ' ' -f 39 /proc/$$/stat); "
    "u=$(ls -d /sys/devices/system/cpu/cpu$p/node* 2>/dev/null); u=${u##*/node}; "
    'printf "%srank=%s pid=%s boot_id=%s net=%s cpus=%s cpu=%s numa=%s interface=%s host=%s\\n" '
    f"'{RANK_SAYS}' "
    '"$r" "$$" "$b" "$n" "$c" "$p" "${u:-0}" "$i" "$h"; '
    'exec "$@"'
)


def telling(
    program: Sequence[str], interfaces: Mapping[str, str], rank: int = 0
) -> tuple[str, ...]:
    """The argv that tells its placement and then becomes ``program``.

    ``interfaces`` are those of the measured network by host name; MPI's TCP is bound to
    them. Empty leaves MPI its own choice. ``rank`` counts where no MPI gives one.
    """
    pairs = tuple(f"{host}={interface}" for host, interface in sorted(interfaces.items()))
    return ("/bin/sh", "-c", _SCRIPT, "fabricgauge-rank", str(rank), *pairs, "--", *program)
