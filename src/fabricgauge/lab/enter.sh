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

# quoted WORD: the word in $quoted, as a shell reads it back.
quoted() {
    rest=$1 quoted=\'
    while [ "${rest#*\'}" != "$rest" ]; do
        quoted=$quoted${rest%%\'*}\'\\\'\'
        rest=${rest#*\'}
    done
    quoted=$quoted$rest\'
}

# by_ssh CONFIG COMMAND...: a virtual machine has the environment and the working directory of the
# caller as well. A command ends when the caller does, and sees the machine's files as they are when
# it starts: what the guest remembers of them is dropped (Linux, admin-guide/sysctl/vm). The
# interface that ssh came in by is in a network namespace of its own; the command is not.
by_ssh() {
    config=$1
    shift
    quoted "$PWD"
    line="cd -- $quoted || exit 255"
    quoted "$lab/config.toml"
    line="$(export -p)
echo 2 >/proc/sys/vm/drop_caches
$line
export FABRICGAUGE_LAB=$token FABRICGAUGE_SITE_FILE=$quoted FABRICGAUGE_MACHINES=1
unset SLURM_CONF
exec setpriv --pdeathsig TERM nsenter --net=/proc/1/ns/net --"
    for word in "$@"; do
        quoted "$word"
        line="$line $quoted"
    done
    terminal=-T
    [ -t 0 ] && [ -t 1 ] && terminal=-t
    exec ssh -F "$config" "$terminal" -- "$node" "$line"
}

# From one virtual machine to the other.
[ ! -e /run/fabricgauge-guest ] || by_ssh "$lab/ssh_config" "$@"

# The head of a lab is a namespace of this machine also if the other nodes are virtual machines.
is_machine=
[ ! -e "$lab/ssh_config" ] || [ "$node" = head ] || is_machine=1

# Fields 3 and 22 of /proc/PID/stat are the state and the start time: a recycled process id
# has another, and a process that ended may still be listed as a zombie.
{ read -r _ _ state _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ now _ < "/proc/$pid/stat"; } 2> /dev/null
if [ "$now" != "$began" ] || [ "$state" = Z ]; then
    if [ "$is_machine" ]; then
        console=$lab/console.$node
        word=$(grep -a -m 1 -E 'BUG: |Oops|double fault|Kernel panic' "$console" 2> /dev/null |
            tr -dc '[:print:]' | cut -c 1-200)
        fail "its virtual machine has ended${word:+: $word} (its last words are in $console); \
bring the lab down and up again"
    fi
    fail 'its holder process is gone; bring the lab down and up again'
fi

# This machine reaches a virtual machine by a port of the loopback, the head by the network.
if [ "$is_machine" ]; then
    [ "${FABRICGAUGE_LAB:-}" != "$token" ] || by_ssh "$lab/ssh_config" "$@"
    by_ssh "$lab/ssh_config.machine" "$@"
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

# A check on the head of such a lab must know that the nodes are machines of their own.
[ ! -e "$lab/ssh_config" ] || export FABRICGAUGE_MACHINES=1

# shellcheck disable=SC2016,SC2086  # the inner shell expands; $user is words or nothing
exec nsenter --target "$pid" $user --net --uts --ipc --mount -- sh -c '
    cd -- "$1" || exit 255
    export FABRICGAUGE_LAB="$2" FABRICGAUGE_SITE_FILE="$3"
    unset SLURM_CONF
    shift 3
    exec "$@"' sh "$PWD" "$token" "$lab/config.toml" "$@"
