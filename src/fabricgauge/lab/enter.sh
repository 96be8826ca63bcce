#!/bin/sh
# enter NODE COMMAND [ARGUMENT...]: run a command on a node of the lab whose directory
# holds this script. The words stay as they are; the working directory is kept.
# Exit status: the command's; 255 if the node cannot be entered.
lab=${0%/*}
node=$1
shift

fail() {
    printf 'fabricgauge lab: %s: %s\n' "$node" "$1" >&2
    exit 255
}

case $node in
'' | . | .. | */*) fail 'not a node name' ;;
esac
{ read -r pid began token < "$lab/table/$node"; } 2> /dev/null ||
    fail 'no such node in this lab'

# Fields 3 and 22 of /proc/PID/stat are the state and the start time: a recycled process id
# has another, and a process that ended may still be listed as a zombie.
{ read -r _ _ state _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ now _ < "/proc/$pid/stat"; } 2> /dev/null
if [ "$now" != "$began" ] || [ "$state" = Z ]; then
    fail 'its holder process is gone; bring the lab down and up again'
fi

# A fault may have lowered what a program on the node may lock in memory, in KiB.
limit=
{ IFS= read -r limit < "$lab/memlock/$node"; } 2> /dev/null
# shellcheck disable=SC3045  # ulimit -l: no POSIX, but in every sh of Linux (dash, bash, busybox)
case $limit in '' | *[!0-9]*) ;; *) ulimit -l "$limit" ;; esac

# A user namespace cannot be entered twice. (-ef: POSIX.1-2024, and every sh in use before it.)
user=
# shellcheck disable=SC3013
[ /proc/self/ns/user -ef "/proc/$pid/ns/user" ] || user='--user --preserve-credentials'

# shellcheck disable=SC2016,SC2086  # the inner shell expands; $user is words or nothing
exec nsenter --target "$pid" $user --net --uts --ipc --mount -- sh -c '
    cd -- "$1" || exit 255
    export FABRICGAUGE_LAB="$2" FABRICGAUGE_SITE_FILE="$3"
    unset SLURM_CONF
    shift 3
    exec "$@"' sh "$PWD" "$token" "$lab/config.toml" "$@"
