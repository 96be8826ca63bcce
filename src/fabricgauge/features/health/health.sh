#!/bin/sh
# Checks the links, adapters, GPUs and error counters of one node; made for a scheduler's prolog.
#
# Needs a POSIX shell and coreutils; uses tc, ethtool and scontrol where they are installed. It
# reads files only: no network traffic, no privilege, no controller. fabricgauge wrote the lines
# between the two marks from a file of expectations; edit that file, not these lines.
#
# Options: --for plain|slurm|nagios|npd, --state FILE, --textfile FILE, --limit SECONDS, --quiet,
# --facts (print what the node has and exit), --root DIR (a copy of /sys and /proc, with tools in
# DIR/bin, for tests).
#
# The lines between the marks call most functions; without a file of expectations few are called.
# shellcheck disable=SC2317

# fabricgauge: begin
form=plain
drain=no
state=''
textfile=''
limit_s=4
expect_node() { return 2; }
severity_of() { severity=warn; }
watch_node() { return 1; }
limits_of() { warn_over='' fail_over=''; }
counter_kind() { kind=''; }
# fabricgauge: end

window_s=3600
bucket_s=300
tag='[fabricgauge]'
root=''
quiet=no
facts=no

usage() {
    printf 'usage: %s [--for plain|slurm|nagios|npd] [--state FILE] [--textfile FILE]' "$0" >&2
    printf ' [--limit SECONDS] [--quiet] [--facts] [--root DIR]\n' >&2
    answer inconclusive "$1" ''
    finish inconclusive
}

# ---- Values. Each function sets "value"; it is empty if the value is unknown.

# load FILE: the first line of a file. The shell reads it: a process for each file takes seconds.
load() {
    value=''
    { IFS= read -r value <"$1"; } 2>/dev/null
}

# is_number TEXT: digits without a leading zero (octal to the shell), small enough for 64 bits.
is_number() {
    case $1 in
    '' | *[!0-9]* | 0?* | ???????????????????*) return 1 ;;
    esac
}

# load_number FILE: a whole number of zero or more.
load_number() {
    load "$1"
    is_number "$value" || value=''
}

# entry KEY FILE: the text behind KEY at the start of a line, without leading blanks.
entry() {
    value=''
    while IFS= read -r line; do
        case $line in
        "$1"*)
            value=${line#"$1"}
            while :; do
                case $value in
                ' '* | '	'*) value=${value#?} ;;
                *) break ;;
                esac
            done
            return
            ;;
        esac
    done 2>/dev/null <"$2"
}

# exists FILE: without it, redirections of "entry" would print an error.
exists() { [ -r "$1" ]; }

net() { dir=$root/sys/class/net/$1; }
rdma() { dir=$root/sys/class/infiniband/$1; }
# port DEVICE:NUMBER
port() { dir=$root/sys/class/infiniband/${1%:*}/ports/${1##*:}; }

# driver_of: of the device below "dir".
driver_of() {
    value=''
    exists "$dir/device/uevent" && entry DRIVER= "$dir/device/uevent"
}

# identity_of: vendor and device of the PCI function below "dir", such as 15b3:101b.
identity_of() {
    load "$dir/device/vendor"
    vendor=${value#0x}
    load "$dir/device/device"
    value=${value#0x}
    [ -n "$vendor" ] && [ -n "$value" ] && value=$vendor:$value || value=''
}

# pcie_of DIR: link of a PCI function, such as "16.0 GT/s x16".
pcie_of() {
    load "$1/current_link_speed"
    speed=${value%% *}
    load_number "$1/current_link_width"
    case $speed,$value in
    [0-9]*.[0-9],[1-9] | [0-9]*.[0-9],[1-9]?) value="$speed GT/s x$value" ;;
    *) value='' ;;
    esac
}

# bits RATE: a rate as tc prints it (984399Kbit) in bit/s.
bits() {
    value=''
    case $1 in
    *Gbit) value=${1%Gbit}000000000 ;;
    *Mbit) value=${1%Mbit}000000 ;;
    *Kbit) value=${1%Kbit}000 ;;
    *bit) value=${1%bit} ;;
    esac
    is_number "$value" || value=''
}

has() { command -v "$1" >/dev/null 2>&1; }

# has_tool TOOL: a copy of a node has its own tools.
has_tool() {
    if [ -n "$root" ]; then [ -x "$root/bin/$1" ]; else has "$1"; fi
}

# limited SECONDS COMMAND...: a tool may hang on broken hardware.
limited() {
    seconds=$1
    shift
    if has timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

# tc_limit INTERFACE: the rate in bit/s of a token bucket on its way out, "none", or empty.
tc_limit() {
    value=''
    case $1 in -*) return ;; esac
    has_tool tc || return
    text=$(limited 1 tc qdisc show dev "$1" 2>/dev/null) || return
    value=none
    case $text in
    *' rate '*)
        text=${text#*' rate '}
        bits "${text%% *}"
        ;;
    esac
}

# net_firmware INTERFACE
net_firmware() {
    value=''
    case $1 in -*) return ;; esac
    has_tool ethtool && [ -e "$dir/device" ] || return
    text=$(limited 1 ethtool -i "$1" 2>/dev/null) || return
    case $text in
    *'firmware-version: '*)
        text=${text#*'firmware-version: '}
        value=${text%%"$newline"*}
        ;;
    esac
    [ "$value" = N/A ] && value=''
}

# memlock: limit of locked memory in bytes, or "unlimited".
memlock() {
    value=''
    exists "$root/proc/self/limits" && entry 'Max locked memory' "$root/proc/self/limits"
    value=${value%% *}
}

# gpus_on_bus: functions of NVIDIA and AMD that compute: displays and accelerators of PCI class 03
# and 12, on the bus; empty if a device, or the whole bus, is unreadable.
gpus_on_bus() {
    count=0
    for path in "$root"/sys/bus/pci/devices/*; do
        load "$path/class"
        case $value in 0x0300* | 0x0302* | 0x0380* | 0x12*) ;; '') return ;; *) continue ;; esac
        load "$path/vendor"
        case $value in
        0x10de | 0x1002) [ -e "$path/physfn" ] || count=$((count + 1)) ;;
        '') return ;;
        esac
    done
    value=$count
}

# gpus_of_driver: GPUs of NVIDIA's driver; empty if it is not loaded.
gpus_of_driver() {
    value=''
    [ -d "$root/proc/driver/nvidia/gpus" ] || return
    count=0
    for path in "$root"/proc/driver/nvidia/gpus/*; do
        [ -e "$path" ] && count=$((count + 1))
    done
    value=$count
}

# is_uplink PATH: whether an interface is a cable's end: with hardware, a bond, or eth* of a
# container or a lab.
is_uplink() {
    [ -e "$1/physfn" ] && return 1
    [ -e "$1/device" ] || [ -e "$1/bonding" ] && return 0
    case ${1##*/} in eth[0-9]*) [ ! -e "$1/master" ] ;; *) return 1 ;; esac
}

# ---- Facts: what this node has, a line each, for "fabricgauge health --learn".

fact() { [ -z "$value" ] || printf '%s %s\n' "$*" "$value"; }

print_facts() {
    echo 'fabricgauge-facts 1'
    for path in "$root"/sys/class/net/*; do
        is_uplink "$path" || continue
        name=${path##*/}
        net "$name"
        net_state "$name"
        value=$link
        fact net "$name" link
        driver_of
        fact net "$name" driver
        identity_of
        fact net "$name" identity
        [ "$link" = up ] || continue
        load_number "$dir/speed"
        [ "$value" = 0 ] || fact net "$name" rate
        load_number "$dir/mtu"
        fact net "$name" mtu
        tc_limit "$name"
        fact net "$name" limit
        pcie_of "$dir/device"
        fact net "$name" pcie
        net_firmware "$name"
        fact net "$name" firmware
    done
    for path in "$root"/sys/class/infiniband/*; do
        [ -e "$path/node_type" ] || continue
        name=${path##*/}
        rdma "$name"
        load "$dir/fw_ver"
        fact rdma "$name" firmware
        load "$dir/board_id"
        fact rdma "$name" board
        driver_of
        fact rdma "$name" driver
        identity_of
        fact rdma "$name" identity
        pcie_of "$dir/device"
        fact rdma "$name" pcie
        for place in "$path"/ports/*; do
            [ -e "$place/state" ] || continue
            number=${place##*/}
            port "$name:$number"
            port_state
            value=$link
            fact port "$name:$number" link
            load "$dir/link_layer"
            layer=$value
            fact port "$name:$number" layer
            [ "$link" = up ] || continue
            load "$dir/rate"
            fact port "$name:$number" rate
            if [ "$layer" = InfiniBand ]; then
                load "$dir/sm_lid"
                fact port "$name:$number" manager
            fi
            for index in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
                gid "$index"
                fact port "$name:$number" gid "$index"
            done
        done
    done
    memlock
    fact node - memlock
    gpus_on_bus
    [ "$value" = 0 ] || fact node - gpus
    gpus_of_driver
    [ "$value" = 0 ] || fact node - gpu-driver
    echo end
}

# ---- Checks. They write lines "SEVERITY CHECK TEXT"; "begin CHECK" precedes what may hang.

begin() { printf 'begin %s\n' "$*"; }
say() { printf '%s\n' "$*"; }

# fault CHECK TEXT: with the severity of that check.
fault() {
    severity_of "$1"
    [ "$severity" = off ] || say "$severity" "$@"
}

# dispute CHECK TEXT: two sources contradict each other. That is told, and drains no node.
dispute() { say warn "$@"; }
unknown() { say inconclusive "$@"; }

# net_state INTERFACE: sets link to up, down, off, gone, unread or disputed; why is the evidence.
net_state() {
    link=up why=''
    if [ ! -d "$dir" ]; then
        link=gone why="the kernel has no interface $1"
        if ! exists "$root/proc/net/dev"; then
            link=unread why='/sys/class/net and /proc/net/dev have nothing on it'
        else
            while IFS= read -r line; do
                case $line in *"$1:"*) link=disputed why="/proc/net/dev has it, /sys/class/net has not" ;; esac
            done <"$root/proc/net/dev"
        fi
        return
    fi
    load "$dir/operstate"
    operstate=$value
    load "$dir/carrier"
    why="carrier ${value:-unreadable}, operstate ${operstate:-unreadable}"
    case $value,$operstate in
    1,up | 1,unknown | 1,dormant) ;;
    0,down | 0,lowerlayerdown | 0,notpresent | 0,dormant) link=down ;;
    ,down) link=off ;;
    *) link=disputed ;;
    esac
}

# port_state: the same for the port in "dir".
port_state() {
    link=up why=''
    if [ ! -d "$dir" ]; then
        link=gone why='the kernel has no such RDMA port'
        [ -d "$root/sys/class/net" ] || link=unread why='/sys is unreadable'
        return
    fi
    load "$dir/state"
    port_word=$value
    load "$dir/phys_state"
    why="state ${port_word:-unreadable}, physical ${value:-unreadable}"
    case $port_word,$value in
    *ACTIVE,*LinkUp) ;;
    *ACTIVE_DEFER,*LinkUp) ;;
    *INIT,*LinkUp | *ARMED,*LinkUp) link=waiting ;;
    *DOWN,*LinkUp | *ACTIVE*,*) link=disputed ;;
    *DOWN,'' | ,*) link=disputed ;;
    *)
        link=down
        load "$dir/gid_attrs/ndevs/0"
        netdev=$value
        [ -n "$netdev" ] && load "$root/sys/class/net/$netdev/carrier" || value=''
        [ "$value" != 1 ] || link=disputed why="$why, but $netdev has a carrier"
        ;;
    esac
}

# gid INDEX: kind and interface of an address in the port's table.
gid() {
    load "$dir/gids/$1"
    address=$value
    value=''
    case $address in '' | 0000:0000:0000:0000:0000:0000:0000:0000) return ;; esac
    load "$dir/gid_attrs/types/$1"
    kind=$value
    load "$dir/gid_attrs/ndevs/$1"
    value=$kind${value:+ $value}
}

# tenths NUMBER: sets value to ten times a number with at most one decimal.
tenths() {
    value=${1%%.*}0
    case $1 in *.[0-9]*) value=${1%%.*}${1#*.} value=${value%"${value#"${1%%.*}"?}"} ;; esac
    while :; do case $value in 0?*) value=${value#0} ;; *) break ;; esac done
    is_number "$value" || value=''
}

# Parts that are lost: their other values are unreadable and would only repeat the loss.
lost=' '
is_lost() { case $lost in *" $1 "*) ;; *) return 1 ;; esac; }

# expect KIND NAME FIELD VALUE
expect() {
    begin "$3 of $2"
    case $1 in
    net) expect_net "$2" "$3" "$4" ;;
    rdma) expect_rdma "$2" "$3" "$4" ;;
    port) expect_port "$2" "$3" "$4" ;;
    node) expect_of_node "$3" "$4" ;;
    esac
}

# judge_link NAME
judge_link() {
    case $link in
    up) link_up=1 ;;
    *) link_up=0 lost="$lost$1 " ;;
    esac
    metric link_up "device=\"$1\"" "$link_up"
    case $link in
    up) ;;
    down) fault link "$1 link down ($why)" ;;
    off) fault link "$1 is switched off ($why)" ;;
    gone) fault link "$1 is gone: $why" ;;
    unread) unknown link "$1: its link is unreadable ($why)" ;;
    *) dispute link "$1: sources disagree ($why)" ;;
    esac
}

expect_net() {
    net "$1"
    if [ "$2" = link ]; then
        net_state "$1"
        judge_link "$1"
        return
    fi
    is_lost "$1" && return
    case $2 in
    rate)
        load_number "$dir/speed"
        if [ -z "$value" ] || [ "$value" = 0 ]; then
            unknown rate "$1: its rate is unreadable, $3 Mb/s expected"
        elif [ "$value" -lt "$3" ]; then
            fault rate "$1 at $value of $3 Mb/s"
        elif [ "$value" -gt "$3" ]; then
            say note rate "$1 at $value Mb/s, $3 expected"
        fi
        ;;
    limit)
        tc_limit "$1"
        if [ -z "$value" ] || [ "$value" = "$3" ]; then
            return
        elif [ "$value" = none ]; then
            say note rate "$1 has no token bucket, one of $3 bit/s expected"
        elif [ "$3" = none ] || [ "$value" -lt "$3" ]; then
            megabits=$((value / 1000000)) expected=''
            [ "$3" = none ] || expected=" of $(($3 / 1000000))"
            fault rate "$1 at $megabits$expected Mb/s (limited by tc)"
        fi
        ;;
    mtu)
        load_number "$dir/mtu"
        if [ -z "$value" ]; then
            unknown mtu "$1: its MTU is unreadable, $3 expected"
        elif [ "$value" != "$3" ]; then
            fault mtu "$1 has MTU $value, $3 expected"
        fi
        ;;
    driver)
        driver_of
        [ "$value" = "$3" ] || fault driver "$1 has driver ${value:-none}, $3 expected"
        ;;
    firmware)
        net_firmware "$1"
        [ -z "$value" ] || [ "$value" = "$3" ] ||
            fault firmware "$1 has firmware $value, $3 expected"
        ;;
    pcie) expect_pcie "$1" "$3" ;;
    esac
}

expect_rdma() {
    rdma "$1"
    if [ ! -d "$dir" ]; then
        is_lost "$1" && return
        lost="$lost$1 "
        for path in "$root"/sys/class/infiniband_verbs/uverbs*; do
            load "$path/ibdev"
            [ "$value" = "$1" ] || continue
            dispute link "$1: sources disagree (infiniband_verbs has it, infiniband has not)"
            return
        done
        if [ -d "$root/sys/class/net" ]; then
            fault link "$1 is gone: the kernel has no such RDMA device"
        else
            unknown link "$1: its files are unreadable"
        fi
        return
    fi
    case $2 in
    firmware)
        load "$dir/fw_ver"
        if [ -z "$value" ]; then
            unknown firmware "$1: its firmware is unreadable, $3 expected"
        elif [ "$value" != "$3" ]; then
            fault firmware "$1 has firmware $value, $3 expected"
        fi
        ;;
    driver)
        driver_of
        [ "$value" = "$3" ] || fault driver "$1 has driver ${value:-none}, $3 expected"
        ;;
    pcie) expect_pcie "$1" "$3" ;;
    esac
}

# expect_pcie NAME LINK: both ends of the slot have to agree that the link is worse.
expect_pcie() {
    pcie_of "$dir/device"
    now=$value
    [ "$now" = "$2" ] && return
    if [ -z "$now" ]; then
        unknown pcie "$1: its PCIe link is unreadable, $2 expected"
        return
    fi
    tenths "${2%% *}"
    expected=$value
    tenths "${now%% *}"
    if [ "$value" -ge "$expected" ] && [ "${now##*x}" -ge "${2##*x}" ]; then
        say note pcie "$1 is at PCIe $now, $2 expected"
        return
    fi
    pcie_of "$dir/device/.."
    if [ -z "$value" ]; then
        unknown pcie "$1 is at PCIe $now, $2 expected; the port above it is unreadable"
    elif [ "$value" != "$now" ]; then
        dispute pcie "$1: sources disagree (PCIe $now, the port above it $value)"
    else
        fault pcie "$1 is at PCIe $now, $2 expected"
    fi
}

expect_port() {
    is_lost "${1%:*}" && return
    port "$1"
    if [ "$2" = link ]; then
        port_state
        if [ "$link" = waiting ]; then
            metric link_up "device=\"$1\"" 0
            lost="$lost$1 "
            load "$dir/sm_lid"
            case $value in
            0x0 | 0) fault subnet "$1 has no subnet manager ($why, its LID 0)" ;;
            *) dispute subnet "$1 waits for the subnet manager ($why, its LID $value)" ;;
            esac
            return
        fi
        judge_link "$1"
        return
    fi
    is_lost "$1" && return
    case $2 in
    rate)
        load "$dir/rate"
        now=$value
        tenths "${3%% *}"
        expected=$value
        tenths "${now%% *}"
        if [ -z "$value" ] || [ "$value" = 0 ]; then
            unknown rate "$1: its rate is unreadable, $3 expected"
        elif [ "$value" -lt "$expected" ]; then
            fault rate "$1 at $now, $3 expected"
        elif [ "$now" != "$3" ]; then
            say note rate "$1 at $now, $3 expected"
        fi
        ;;
    layer)
        load "$dir/link_layer"
        if [ -z "$value" ]; then
            unknown link "$1: its link layer is unreadable, $3 expected"
        elif [ "$value" != "$3" ]; then
            fault link "$1 has link layer $value, $3 expected"
        fi
        if [ "$value" = InfiniBand ]; then
            load "$dir/lid"
            case $value in 0x0 | 0 | 0xffff) fault subnet "$1 is active without a LID ($value)" ;; esac
        fi
        ;;
    manager)
        load "$dir/sm_lid"
        [ "$value" = "$3" ] || say note subnet "$1 has its subnet manager at LID $value, was $3"
        ;;
    gid\ *)
        gid "${2#gid }"
        [ "$value" = "$3" ] || fault gid "$1 has ${value:-nothing} at GID ${2#gid }, $3 expected"
        ;;
    esac
}

expect_of_node() {
    case $1 in
    memlock)
        memlock
        case $value,$2 in
        "$2,$value" | unlimited,*) ;;
        ,*) unknown memlock "the limit of locked memory is unreadable" ;;
        *,unlimited) fault memlock "locked memory is limited to $value bytes" ;;
        *)
            if is_number "$value" && is_number "$2" && [ "$value" -lt "$2" ]; then
                fault memlock "locked memory is limited to $value of $2 bytes"
            fi
            ;;
        esac
        ;;
    gpus)
        gpus_on_bus
        now=$value
        gpus_of_driver
        if [ -z "$now" ]; then
            unknown gpus "the PCI bus is unreadable, $2 GPUs expected"
        elif [ "$now" -ge "$2" ]; then
            return
        elif [ -n "$value" ] && [ "$value" -ge "$2" ]; then
            dispute gpus "sources disagree: $now GPUs on the bus, $value of the driver"
        else
            fault gpus "$now of $2 GPUs are on the bus"
        fi
        ;;
    gpu-driver)
        gpus_of_driver
        if [ -z "$value" ]; then
            say warn gpus "NVIDIA's driver is not loaded, $2 GPUs expected"
        elif [ "$value" -lt "$2" ]; then
            fault gpus "NVIDIA's driver has $value of $2 GPUs"
        fi
        ;;
    esac
}

# ---- Counters since the last time. The state file has a header, "KEY VALUE BUCKET=RISE,..." for
# each counter, and a last line. A rise counts in its bucket of time for an hour.

# can_write FILE: whether a file beside it can be made. "test -w" of some shells believes root.
can_write() {
    (umask 022 && set -C && echo probe >"$1.$$") 2>/dev/null
    made=$?
    rm -f "$1.$$" 2>/dev/null
    return "$made"
}

# open_state: sets now (seconds; it never goes back while the node is up) and opens the file. One
# that cannot be written again is not read: what rose since would count as of this hour for ever.
open_state() {
    former=/dev/null booted=no keeps=yes
    now=$(date +%s)
    is_number "$now" || now=0
    load "$root/proc/sys/kernel/random/boot_id"
    boot=${value:-unknown}
    load "$root/proc/uptime"
    uptime=${value%%.*}
    is_number "$uptime" || uptime=0
    if ! can_write "$state"; then
        no_state
        return
    fi
    [ -r "$state" ] && [ -f "$state" ] || return
    first='' last=''
    while IFS= read -r line; do
        [ -n "$first" ] || first=$line
        last=$line
    done 2>/dev/null <"$state"
    # shellcheck disable=SC2086  # the header's words
    set -f && set -- $first && set +f
    if [ $# -ne 5 ] || [ "$1 $2" != 'fabricgauge-state 1' ] || [ "$last" != end ] ||
        ! is_number "$4" || ! is_number "$5"; then
        say note counters "the state file is damaged and begins anew: $state"
        return
    fi
    former=$state
    if [ "$3" = "$boot" ] && [ "$4" -le "$uptime" ]; then
        now=$(($5 + uptime - $4)) # the wall clock may have been set meanwhile
    else
        booted=yes
        [ "$now" -ge $(($5 + uptime)) ] || now=$(($5 + uptime))
    fi
}

# no_state: nobody would hear of counters that rise.
no_state() {
    [ "$keeps" = no ] || unknown state "counters unknown: cannot write $state"
    keeps=no
}

# find_former KEY: sets former_value and buckets from the former state; empty for a new counter.
# Counters have the same order each time, so that the next line is nearly always the right one.
find_former() {
    former_value='' buckets=''
    if ! IFS=' ' read -r key former_value buckets <&3 || [ "$key" != "$1" ]; then
        exec 3<"$former"
        key=''
        while IFS=' ' read -r key former_value buckets <&3; do
            [ "$key" = "$1" ] && break
            key=''
        done
        [ "$key" = "$1" ] || former_value='' buckets=''
    fi
    is_number "$former_value" || former_value='' buckets=''
}

# count KEY VALUE: sets rise to what the counter rose by within the window.
#
# A counter that fell was reset, or it wrapped. A restart begins at 0 and counts the training of
# the link: that is no event. A wrap rose by at least its new value; a reset is no event.
count() {
    rise=0
    find_former "$1"
    new=0
    if [ -n "$former_value" ] && [ "$booted" = no ]; then
        if [ "$2" -ge "$former_value" ]; then
            new=$(($2 - former_value))
        elif [ "$former_value" -ge 2147483648 ] && [ "$former_value" -le 4294967295 ]; then
            new=$2
        fi
    fi
    bucket=$((now / bucket_s)) oldest=$(((now - window_s) / bucket_s)) kept='' old=$buckets
    while [ -n "$old" ]; do
        pair=${old%%,*}
        case $old in *,*) old=${old#*,} ;; *) old='' ;; esac
        when=${pair%%=*} amount=${pair#*=}
        if ! is_number "$when" || ! is_number "$amount"; then continue; fi
        if [ "$when" -le "$oldest" ] || [ "$when" -gt "$bucket" ]; then continue; fi
        if [ "$when" = "$bucket" ]; then
            new=$((new + amount))
        else
            kept="${kept:+$kept,}$when=$amount" rise=$((rise + amount))
        fi
    done
    rise=$((rise + new))
    [ "$new" = 0 ] || kept="${kept:+$kept,}$bucket=$new"
    printf '%s %s %s\n' "$1" "$2" "$kept" >&4
}

# begin_part NAME: counts of a part, by kind: in the window, and since the counter began.
begin_part() {
    flaps=0 errors=0 uncorrectable=0 drops=0 pauses=0 storms=0 retries=0
    all_flaps='' all_errors='' all_uncorrectable='' all_drops='' all_pauses='' all_storms=''
    all_retries=''
    begin "counters of $1"
}

# add KIND KEY VALUE
add() {
    is_number "$3" || return 0
    count "$2" "$3"
    case $1 in
    flaps) flaps=$((flaps + rise)) all_flaps=$((${all_flaps:-0} + $3)) ;;
    errors) errors=$((errors + rise)) all_errors=$((${all_errors:-0} + $3)) ;;
    uncorrectable)
        uncorrectable=$((uncorrectable + rise))
        all_uncorrectable=$((${all_uncorrectable:-0} + $3))
        ;;
    drops) drops=$((drops + rise)) all_drops=$((${all_drops:-0} + $3)) ;;
    pauses) pauses=$((pauses + rise)) all_pauses=$((${all_pauses:-0} + $3)) ;;
    storms) storms=$((storms + rise)) all_storms=$((${all_storms:-0} + $3)) ;;
    retries) retries=$((retries + rise)) all_retries=$((${all_retries:-0} + $3)) ;;
    esac
}

# end_part NAME GIGABITS: holds the counts against their limits.
end_part() {
    judge_count "$1" "$2" flaps "$flaps" 'link flaps' "$all_flaps"
    judge_count "$1" "$2" errors "$errors" 'link errors' "$all_errors"
    judge_count "$1" "$2" uncorrectable "$uncorrectable" 'uncorrectable errors' "$all_uncorrectable"
    judge_count "$1" "$2" drops "$drops" 'dropped frames' "$all_drops"
    judge_count "$1" "$2" pauses "$pauses" 'pause frames' "$all_pauses"
    judge_count "$1" "$2" storms "$storms" 'pause storms' "$all_storms"
    judge_count "$1" "$2" retries "$retries" 'retransmissions' "$all_retries"
}

# judge_count NAME GIGABITS KIND COUNT WORDS TOTAL
judge_count() {
    [ -n "$6" ] || return 0
    metric events_total "device=\"$1\",kind=\"$3\"" "$6"
    [ "$keeps" = yes ] || return 0
    limits_of "$3" "$2"
    # A link that comes up counts uncorrectable blocks while it trains, whoever took it down.
    case $3,$flaps in uncorrectable,0) ;; uncorrectable,*) fail_over='' ;; esac
    case $3,$4 in flaps,* | errors,* | *,[1-9]*) perf "$1 $3" "$4" "$warn_over" "$fail_over" ;; esac
    if [ -n "$fail_over" ] && [ "$4" -gt "$fail_over" ]; then
        say fail "$3" "$1 $4 $5 in 1 h (limit $fail_over)"
    elif [ -n "$warn_over" ] && [ "$4" -gt "$warn_over" ]; then
        say warn "$3" "$1 $4 $5 in 1 h (limit $warn_over)"
    fi
}

# watch KIND NAME
watch() {
    case $1 in
    net) [ ! -d "$root/sys/class/net/$2" ] || watch_net "$2" ;;
    port) [ ! -d "$root/sys/class/infiniband/${2%:*}" ] || watch_port "$2" ;;
    esac
}

watch_net() {
    net "$1"
    begin_part "$1"
    load_number "$dir/carrier_down_count"
    if [ -z "$value" ]; then
        load_number "$dir/carrier_changes" # both directions, on Linux before 4.16
        [ -z "$value" ] || value=$((value / 2))
    fi
    add flaps "net/$1/down" "$value"
    for counter in rx_errors tx_errors; do
        load_number "$dir/statistics/$counter"
        add errors "net/$1/$counter" "$value"
    done
    for counter in rx_dropped tx_dropped rx_missed_errors; do
        load_number "$dir/statistics/$counter"
        add drops "net/$1/$counter" "$value"
    done
    [ -e "$dir/device" ] && watch_driver "$1"
    load_number "$dir/speed"
    end_part "$1" $((${value:-0} / 1000))
}

# watch_driver INTERFACE: pause frames, pause storms and uncorrectable errors by the driver's own
# names. Drivers without a name for the last count them for "ethtool --show-fec" alone, as mlx5.
watch_driver() {
    case $1 in -*) return ;; esac
    has_tool ethtool || return
    text=$(limited 1 ethtool -S "$1" 2>/dev/null) || text=''
    while IFS=': ' read -r counter value; do
        case $counter in *[!A-Za-z0-9_.]*) continue ;; esac
        counter_kind "$counter"
        case $kind in pauses | storms | uncorrectable) add "$kind" "net/$1/S/$counter" "$value" ;; esac
    done <<END
$text
END
    [ -z "$all_uncorrectable" ] || return
    text=$(limited 1 ethtool -I --show-fec "$1" 2>/dev/null) || return
    while IFS=': ' read -r counter value; do
        [ "$counter" != uncorrectable_blocks ] || add uncorrectable "net/$1/fec" "$value"
    done <<END
$text
END
}

watch_port() {
    port "$1"
    begin_part "$1"
    for path in "$dir"/counters/* "$dir"/hw_counters/*; do
        counter=${path##*/}
        case $path in
        */counters/link_downed) kind=flaps ;;
        */counters/*)
            case $counter in
            symbol_error | link_error_recovery | local_link_integrity_errors | port_rcv_errors | \
                port_rcv_remote_physical_errors | excessive_buffer_overrun_errors) kind=errors ;;
            port_xmit_discards | VL15_dropped) kind=drops ;;
            *) continue ;;
            esac
            ;;
        *)
            counter_kind "$counter"
            # Errors that a program makes count there too: they are none of the link's.
            case $kind in retries | drops | pauses) ;; *) continue ;; esac
            ;;
        esac
        load_number "$path"
        add "$kind" "port/$1/$counter" "$value"
    done
    load "$dir/rate"
    value=${value%%[!0-9]*}
    end_part "$1" "${value:-0}"
}

# watch_tcp: the share of segments that TCP sent again.
watch_tcp() {
    begin 'counters of TCP'
    exists "$root/proc/net/snmp" || return
    names='' numbers=''
    while IFS= read -r line; do
        case $line in
        Tcp:*) if [ -z "$names" ]; then names=$line; else numbers=$line; fi ;;
        esac
    done <"$root/proc/net/snmp"
    segments='' again=''
    set -f
    # shellcheck disable=SC2086  # words of two lines of the kernel
    for name in $names; do
        set -- $numbers
        [ $# -gt 0 ] || break
        case $name in OutSegs) segments=$1 ;; RetransSegs) again=$1 ;; esac
        shift
        numbers="$*"
    done
    set +f
    is_number "$segments" && is_number "$again" || return 0
    count tcp/OutSegs "$segments"
    segments=$rise
    count tcp/RetransSegs "$again"
    metric events_total 'device="tcp",kind="retries"' "$again"
    if [ "$rise" -gt 1000 ] && [ $((100 * rise)) -gt "$segments" ]; then
        fault tcp "TCP sent $rise of $segments segments again in 1 h (limit 1 %)"
    fi
}

# watch_all: the counters of a node of which nothing is expected.
watch_all() {
    for path in "$root"/sys/class/net/*; do
        is_uplink "$path" && watch net "${path##*/}"
    done
    for place in "$root"/sys/class/infiniband/*/ports/*; do
        [ -e "$place/state" ] || continue
        name=${place%/ports/*}
        watch port "${name##*/}:${place##*/}"
    done
}

keep_state() {
    echo end >&4
    exec 4>&-
    [ "$keeps" = yes ] || return
    # The copy has a name of its own: of two runs at once the later wins, and each is whole.
    copy=$state.$$
    if (umask 022 && set -C && cat "$work/state" >"$copy") 2>/dev/null && mv -f "$copy" "$state"; then
        return
    fi
    rm -f "$copy"
    no_state
}

# metric NAME LABELS VALUE; perf LABEL VALUE WARN FAIL, in the form of Nagios.
metric() {
    case $2 in *[!A-Za-z0-9._:,=\"@-]*) return ;; esac
    printf 'fabricgauge_health_%s{%s} %s\n' "$1" "$2" "$3" >>"$work/metrics.$1"
}

perf() {
    case $1 in *[!A-Za-z0-9._:\ @-]*) return ;; esac
    printf " '%s'=%s;%s;%s;0" "$1" "$2" "$3" "$4" >>"$work/perf"
}

# The work runs in a process of its own: one that hangs in a driver cannot be ended.
run_checks() {
    expect_node "$node"
    case $? in
    0) ;;
    2) say note expectations 'no file of expectations: only counters are checked' ;;
    *) unknown expectations "no class of the file of expectations names $node" ;;
    esac
    exec 4>"$work/state"
    open_state
    printf 'fabricgauge-state 1 %s %s %s\n' "$boot" "$uptime" "$now" >&4
    exec 3<"$former"
    read -r line <&3
    if watch_node "$node"; then :; else watch_all; fi
    watch_tcp
    begin 'the state file'
    keep_state
    say 'done'
}

# ---- The answer.

newline='
'

# plain_text TEXT: sets text without signs that have a meaning to a scheduler or a monitor.
plain_text() {
    text=$1
    case $text in
    *[!A-Za-z0-9\ ._:,\;/%\(\)+=@\[\]-]*)
        text=$(printf %s "$text" | tr -c 'A-Za-z0-9 ._:,;/%()+=@[]-' '?')
        ;;
    esac
}

# cut TEXT LENGTH: sets text; the shell counts octets, since LC_ALL is C.
cut_text() {
    text=$1
    while [ "${#text}" -gt "$2" ]; do
        text=${text%?}
        case ${#text} in "$2") text=${text%???}... ;; esac
    done
}

status_of() {
    case $form,$1 in
    nagios,pass) status=0 ;;
    nagios,warn) status=1 ;;
    nagios,fail) status=2 ;;
    nagios,*) status=3 ;;
    npd,inconclusive) status=2 ;;
    plain,inconclusive) status=3 ;;
    *,fail) status=1 ;;
    *) status=0 ;;
    esac
}

# answer OUTCOME TEXT PERFDATA: prints the first line.
answer() {
    plain_text "$2"
    case $form in
    slurm)
        cut_text "$text" 100
        [ "$1" = pass ] || printf '%s\n' "$text $tag"
        ;;
    npd)
        cut_text "$text" 80
        printf '%s\n' "$text"
        ;;
    nagios)
        case $1 in
        pass) word=OK ;;
        warn) word=WARNING ;;
        fail) word=CRITICAL ;;
        *) word=UNKNOWN ;;
        esac
        printf 'FABRICGAUGE %s - %s%s\n' "$word" "$text" "${3:+ |$3}"
        ;;
    *)
        case $1 in
        pass) [ "$quiet" = yes ] || printf 'PASS: %s\n' "$text" ;;
        warn) printf 'WARN: %s\n' "$text" ;;
        fail) printf 'FAIL: %s\n' "$text" ;;
        *) printf 'INCONCLUSIVE: %s\n' "$text" ;;
        esac
        ;;
    esac
}

finish() {
    status_of "$1"
    exit "$status"
}

# write_metrics OUTCOME SECONDS: for node exporter's textfile collector, written and then renamed.
write_metrics() {
    copy=$textfile.$$
    {
        echo '# HELP fabricgauge_health_outcome 1 for the outcome of the last check, 0 for the others.'
        echo '# TYPE fabricgauge_health_outcome gauge'
        for name in pass warn fail inconclusive; do
            flag=0
            [ "$name" = "$1" ] && flag=1
            echo "fabricgauge_health_outcome{outcome=\"$name\"} $flag"
        done
        echo '# HELP fabricgauge_health_findings Findings of the last check, by severity.'
        echo '# TYPE fabricgauge_health_findings gauge'
        echo "fabricgauge_health_findings{severity=\"fail\"} $fails"
        echo "fabricgauge_health_findings{severity=\"inconclusive\"} $unknowns"
        echo "fabricgauge_health_findings{severity=\"warn\"} $warnings"
        if [ -r "$work/metrics.link_up" ]; then
            echo '# HELP fabricgauge_health_link_up 1 if an expected link is up.'
            echo '# TYPE fabricgauge_health_link_up gauge'
            cat "$work/metrics.link_up"
        fi
        if [ -r "$work/metrics.events_total" ]; then
            echo '# HELP fabricgauge_health_events_total Events of a device since its counters began, by kind.'
            echo '# TYPE fabricgauge_health_events_total counter'
            cat "$work/metrics.events_total"
        fi
        echo '# HELP fabricgauge_health_duration_seconds Duration of the last check.'
        echo '# TYPE fabricgauge_health_duration_seconds gauge'
        echo "fabricgauge_health_duration_seconds $2"
        echo '# HELP fabricgauge_health_timestamp_seconds When the last check ended, since 1970-01-01 UTC.'
        echo '# TYPE fabricgauge_health_timestamp_seconds gauge'
        echo "fabricgauge_health_timestamp_seconds $(date +%s)"
    } >"$work/textfile"
    (umask 022 && set -C && cat "$work/textfile" >"$copy") 2>/dev/null && mv -f "$copy" "$textfile" && return
    rm -f "$copy"
    printf 'fabricgauge: cannot write %s\n' "$textfile" >&2
}

# ---- Slurm: drain and resume, only if the script was written with --drain.

# slurm_node: Slurm's words on this node. A name with brackets would mean many nodes.
slurm_node() {
    case $node in '' | *[!A-Za-z0-9._-]*) return 1 ;; esac
    has_tool scontrol && limited 5 scontrol -o show node "$node" 2>/dev/null
}

# drain_node REASON: returns 0 if the node is drained. A reason of somebody else stays.
drain_node() {
    rm -f "$state.sound" 2>/dev/null
    shown=$(slurm_node) || return 1
    case $shown in
    *State=*DRAIN*"Reason=$1"*) return 0 ;;
    *State=*DRAIN*Reason=*"$tag"*) ;;
    *State=*DRAIN*) return 0 ;;
    esac
    limited 5 scontrol update "NodeName=$node" State=DRAIN "Reason=$1" >/dev/null 2>&1 || return 1
    # A check that passed at the same moment may have set the mark anew.
    rm -f "$state.sound" 2>/dev/null
    return 0
}

# resume_node: a node whose reason in Slurm has our tag. The mark says that the controller was asked
# in this hour and since the last failure; it only spares questions. It is set before the question,
# so that a check that drains at the same moment removes it.
resume_node() {
    load "$root/proc/uptime"
    uptime=${value%%.*}
    is_number "$uptime" || uptime=0
    load "$root/proc/sys/kernel/random/boot_id"
    mark="$value $((uptime / 3600))"
    load "$state.sound"
    [ "$unkept" = 0 ] && [ "$value" = "$mark" ] && return 0
    (printf '%s\n' "$mark" >"$state.sound") 2>/dev/null
    if shown=$(slurm_node); then
        case $unkept,$shown in
        # Without a state nobody knows whether the events of that hour have ended.
        [1-9]*State=*DRAIN*Reason=*' in 1 h'*"$tag"*) ;;
        *State=*DRAIN*Reason=*"$tag"*)
            limited 5 scontrol update "NodeName=$node" State=RESUME >/dev/null 2>&1 && return 0
            ;;
        *) return 0 ;;
        esac
    fi
    rm -f "$state.sound" 2>/dev/null
    return 0
}

# ---- The run.

# centiseconds: sets value to the time since the node started.
centiseconds() {
    load /proc/uptime
    value=${value%% *}
    value=${value%.*}${value#*.}
    while :; do case $value in 0?*) value=${value#0} ;; *) break ;; esac done
    is_number "$value" || value=0
}

# watchdog: wakes the run after its limit; ended early, it ends its own sleep.
watchdog() {
    nap=''
    trap '[ -z "$nap" ] || kill "$nap" 2>/dev/null; exit 0' TERM
    sleep "$limit_s" &
    nap=$!
    wait "$nap"
    kill -s ALRM "$$"
}

# read_findings: sets counts, texts by severity, and the check that was begun last.
read_findings() {
    fails=0 warnings=0 unknowns=0 unkept=0 checks=0 ended=no current='the first check' fail_text=''
    warn_text='' unknown_text='' note_text=''
    while IFS=' ' read -r word name line; do
        case $word in
        begin) current="$name $line" checks=$((checks + 1)) ;;
        fail) fails=$((fails + 1)) fail_text="${fail_text:+$fail_text; }$line" ;;
        warn) warnings=$((warnings + 1)) warn_text="${warn_text:+$warn_text; }$line" ;;
        inconclusive)
            unknowns=$((unknowns + 1)) unknown_text="${unknown_text:+$unknown_text; }$line"
            [ "$name" != state ] || unkept=$((unkept + 1))
            ;;
        note) note_text="${note_text:+$note_text; }$line" ;;
        done) ended=yes ;;
        esac
    done <"$work/report"
}

main() {
    LC_ALL=C
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin${PATH:+:$PATH}
    export LC_ALL PATH
    while [ $# -gt 0 ]; do
        case $1 in
        --quiet | -q) quiet=yes ;;
        --facts) facts=yes ;;
        --for | --state | --textfile | --limit | --root)
            [ $# -gt 1 ] || usage "$1 needs a value"
            case $1 in
            --for)
                case $2 in plain | slurm | nagios | npd) form=$2 ;; *) usage "no form $2" ;; esac
                ;;
            --state) state=$2 ;;
            --textfile) textfile=$2 ;;
            --limit) limit_s=$2 ;;
            --root) root=$2 ;;
            esac
            shift
            ;;
        *) usage "no option $1" ;;
        esac
        shift
    done
    is_number "$limit_s" || usage 'the limit is a number of seconds'
    [ "$limit_s" -gt 0 ] || usage 'the limit is above 0'
    [ -z "$root" ] || PATH=$root/bin:$PATH
    if [ "$facts" = yes ]; then
        print_facts
        exit 0
    fi
    node=${SLURMD_NODENAME:-}
    if [ -z "$node" ]; then
        load "$root/proc/sys/kernel/hostname"
        node=${value%%.*}
    fi
    find_state
    centiseconds
    started=$value late=no
    if ! work=$(mktemp -d "${TMPDIR:-/tmp}/fabricgauge-health.XXXXXX" 2>/dev/null); then
        answer inconclusive 'no temporary directory can be made' ''
        finish inconclusive
    fi
    trap 'rm -rf "$work"' EXIT
    worker='' dog=''
    # shellcheck disable=SC2086  # process ids, or nothing
    trap 'kill $worker $dog 2>/dev/null; exit 3' HUP INT TERM
    trap 'late=yes' ALRM
    run_checks >"$work/report" 2>/dev/null </dev/null &
    worker=$!
    watchdog >/dev/null 2>&1 </dev/null &
    dog=$!
    wait "$worker"
    kill "$dog" 2>/dev/null
    [ "$late" = no ] || kill -s KILL "$worker" 2>/dev/null
    read_findings
    conclude
}

# find_state: the state file, in a folder that others cannot write; the first that can be written of
# the machine's, the one in memory (a node without a disk), and the user's.
find_state() {
    [ -z "$state" ] || return
    case $node in '' | *[!A-Za-z0-9._-]* | .*) name=node ;; *) name=$node ;; esac
    home=${XDG_STATE_HOME:-${HOME:+$HOME/.local/state}}
    for folder in "$root/var/lib" "$root/run" "$home"; do
        [ "$folder" = "$home" ] || [ -d "$folder" ] || continue
        [ -n "$folder" ] || continue
        state=$folder/fabricgauge/health.$name
        mkdir -p "$folder/fabricgauge" 2>/dev/null
        can_write "$state" && return
    done
    state=$root/var/lib/fabricgauge/health.$name
}

conclude() {
    if [ "$ended" = no ]; then
        unknowns=$((unknowns + 1))
        why='ended early'
        [ "$late" = no ] || why="not done within $limit_s s"
        unknown_text="check of $current: $why${unknown_text:+; $unknown_text}"
    fi
    outcome=pass text=''
    [ "$warnings" = 0 ] || outcome=warn
    [ "$unknowns" = 0 ] || outcome=inconclusive
    [ "$fails" = 0 ] || outcome=fail
    for part in "$fail_text" "$unknown_text" "$warn_text"; do
        [ -z "$part" ] || text="${text:+$text; }$part"
    done
    [ -n "$text" ] || text="$checks checks${note_text:+; $note_text}"
    centiseconds
    elapsed=$((value - started))
    hundredths=$((elapsed % 100))
    [ "$hundredths" -ge 10 ] || hundredths=0$hundredths
    seconds=$((elapsed / 100)).$hundredths
    data=''
    [ ! -r "$work/perf" ] || IFS= read -r data <"$work/perf"
    answer "$outcome" "$text" " time=${seconds}s;;$limit_s;0$data"
    [ -z "$textfile" ] || write_metrics "$outcome" "$seconds"
    if [ "$drain" = yes ]; then act "$outcome"; fi
    finish "$outcome"
}

# act OUTCOME: drains or resumes. A node that is drained may register: slurmd asks at its start, and
# recent versions of Slurm ask until the status is 0. In a prolog the status requeues the job.
act() {
    case $1 in
    fail)
        plain_text "$fail_text"
        cut_text "$text" 100
        if drain_node "$text $tag"; then
            case ${SLURM_SCRIPT_CONTEXT:-} in prolog* | epilog*) ;; *) [ "$form" = slurm ] && exit 0 ;; esac
        fi
        ;;
    pass | warn) resume_node ;;
    # A node without a place for its state was drained by a check that needs none.
    *) [ "$unknowns" != "$unkept" ] || resume_node ;;
    esac
}

main "$@"
