#!/bin/sh
# trials SECONDS LIMIT [ping COUNT INTERVAL PAYLOAD WHOLE AFTER SOURCE TARGET | name NAME | address IP]...
#
# Tries what this node can do to others, all at once, and prints it in sections for
# trials.py: echoes from the address SOURCE to TARGET (WHOLE forbids fragments, AFTER is
# a delay in seconds), what NAMEs mean here and what IPs are called, the clock, and the counters of errors and drops
# before and after at least SECONDS. What has not ended after LIMIT whole seconds is ended.
# It sends echo requests, changes nothing, and needs no privilege. The parameters are data.

section() { printf '== %s\n' "$*"; }

has() { command -v "$1" >/dev/null 2>&1; }

# Seconds since 1970; a date that knows no nanoseconds leaves "%N" or nothing behind the point.
clock() { section "$1" && date +%s.%N; }

# quoted TEXT: marks each line, so that none can be taken for one of ours. It keeps less than 4096
# bytes: these go into a pipe in one piece (pipe(7)), so two writers' lines do not mix.
quoted() { printf '%s\n' "$1" | sed -e 's/^/| /' -e 's/\(.\{200\}\).*/\1/' -e 15q; }

# heard TARGET: whether its link answered ARP or neighbour discovery. What drops echoes alone
# leaves that; a dead way does not.
heard() {
    case $(ip neigh show to "$1" 2>/dev/null) in
    *REACHABLE*) echo heard ;;
    *) echo silent ;;
    esac
}

# ping_one NUMBER COUNT INTERVAL PAYLOAD WHOLE AFTER SOURCE TARGET
ping_one() {
    number=$1 count=$2 interval=$3 payload=$4 whole=$5 source=$7 target=$8
    sleep "$6"
    set -- -n -W 1 -s "$payload" -I "$source"
    [ "$whole" = 1 ] && set -- "$@" -M 'do'
    text=$(ping "$@" -c "$count" -i "$interval" "$target" 2>&1)
    status=$?
    # A ping that refuses the pace says so: "cannot flood; minimal interval allowed for user …".
    case $status:$text in
    2:*nterval*)
        text=$(ping "$@" -c 25 -i 0.2 "$target" 2>&1)
        status=$?
        ;;
    esac
    [ "$status" = 0 ] || status="$status $(heard "$target")"
    # The sum comes last, after a line for each echo.
    text=$(printf '%s\n' "$text" | tail -n 15)
    printf '== ping %s %s\n%s\n' "$number" "$status" "$(quoted "$text")"
}

# look_up NUMBER name|address WHAT. The getent of some systems knows no ahostsv4.
look_up() {
    case $2 in
    name) text=$(getent ahostsv4 "$3" 2>/dev/null || getent hosts "$3" 2>/dev/null) ;;
    *) text=$(getent hosts "$3" 2>/dev/null) ;;
    esac
    status=$?
    printf '== %s %s %s\n%s\n' "$2" "$1" "$status" "$(quoted "$text")"
}

# Counters that are not 0. Interface names hold neither slash, colon nor blank (Linux 6.12,
# net/core/dev.c, dev_valid_name).
count() {
    section "$1"
    (cd /sys/class/net && grep -s '^[1-9]' ./*/statistics/*err* ./*/statistics/*dropped /dev/null)
    (cd /sys/class/infiniband 2>/dev/null && grep -s '^[1-9]' ./*/ports/*/counters/*err* \
        ./*/ports/*/counters/*discard* ./*/ports/*/counters/*dropped \
        ./*/ports/*/counters/link_downed ./*/ports/*/counters/*overrun* \
        ./*/ports/*/hw_counters/* /dev/null)
    has ethtool || return
    for path in /sys/class/net/*; do
        [ -e "$path/device" ] || continue
        case ${path##*/} in -*) continue ;; esac
        ethtool -S "${path##*/}" 2>/dev/null | grep -E 'pause|pfc|xoff|xon|ecn|cnp|symbol|crc|fcs|discard' |
            grep -Ev 'queue|\[| 0$' | sed -e "s|^ *|ethtool/${path##*/}/|" -e 64q
    done
}

trials() {
    LC_ALL=C
    PATH=$PATH:/usr/sbin:/sbin
    export LC_ALL PATH
    seconds=$1 limit=$2 number=0 running=
    shift 2
    section "fabricgauge-trials 1"
    count before
    clock began
    while [ $# -gt 0 ]; do
        case $1 in
        ping)
            ping_one "$number" "$2" "$3" "$4" "$5" "$6" "$7" "$8" &
            shift 8
            ;;
        *)
            look_up "$number" "$1" "$2" &
            shift 2
            ;;
        esac
        running="$running $!"
        number=$((number + 1))
    done
    sleep "$seconds" &
    running="$running $!"
    # Without the answer's pipes: else they stay open as long as its sleep.
    # shellcheck disable=SC2086  # $running is process ids
    (sleep "$limit" && kill $running) >/dev/null 2>&1 &
    guard=$!
    # shellcheck disable=SC2086
    wait $running
    kill "$guard"
    clock ended
    count after
    section end
}

# In a subshell: where a function is redirected, the shell keeps copies of what was open before.
# A tool that does not end would hold these copies, and their reader would wait for ever.
(
    exec </dev/null 2>/dev/null
    trials "$@"
)
exit 0
