#!/bin/sh
# Prints what a node says of itself, in sections "== NAME", for parse_probe.py.
#
# Needs a POSIX shell and nothing else: each tool that is missing leaves its section
# out. It reads, changes nothing, and needs no privilege. It is fed to "sh -s", so
# the work is in a function with its own standard input: no tool can swallow the rest
# of the script, and a script that arrives cut off does nothing.

section() { printf '== %s\n' "$*"; }

has() { command -v "$1" >/dev/null 2>&1; }

# value KEY FILE: the first line of a file behind its key; nothing if unreadable. Read
# by the shell: a process for each file takes seconds on nodes with many interfaces.
value() {
    if { IFS= read -r line <"$2"; } 2>/dev/null; then
        printf '%s%s\n' "$1" "$line"
    fi
}

# ipoib PATH: the mode of an interface of IP over InfiniBand (type 32, Linux 6.12, if_arp.h), the
# port of the adapter that it is on, counted from 0, and the rates of the adapter's ports.
ipoib() {
    { IFS= read -r line <"$1/type"; } 2>/dev/null
    [ "$line" = 32 ] || return
    value "mode: " "$1/mode"
    value "dev_port: " "$1/dev_port"
    for port in "$1"/device/infiniband/*/ports/*; do
        value "rate ${port##*/}: " "$port/rate"
    done
}

# linked KEY LINK: the last part of what a symbolic link points to.
linked() {
    target=$(readlink "$2") && printf '%s: %s\n' "$1" "${target##*/}"
}

# behind PATH: the function on a bus that an interface or a device is on, and its link.
behind() {
    [ -e "$1/device" ] || return
    linked bus "$1/device"
    linked driver "$1/device/driver"
    for key in numa_node current_link_speed current_link_width; do
        value "$key: " "$1/device/$key"
    done
}

# RDMA devices with their ports. Slingshot's have their own class, and an interface for a port.
rdma_devices() {
    for path in /sys/class/infiniband/*; do
        [ -e "$path/node_type" ] || continue
        section "rdma ${path##*/}"
        for key in node_type node_guid fw_ver hca_type board_id hw_rev boardversion; do
            value "$key: " "$path/$key"
        done
        behind "$path"
        for port in "$path"/ports/*; do
            [ -e "$port/state" ] && rdma_port "$port" "${path##*/}"
        done
    done
    for path in /sys/class/cxi/*; do
        [ -e "$path/device" ] || continue
        section "rdma ${path##*/}"
        behind "$path"
        section "rdma-port 1 ${path##*/}"
        for interface in "$path"/device/net/*; do
            value "state: " "$interface/operstate"
            value "speed: " "$interface/speed"
            printf 'netdev: %s\n' "${interface##*/}"
        done
    done
    path_mtus
}

# No file has the path MTU in force. Without ib_uverbs the question would load it.
path_mtus() {
    set -- /sys/class/infiniband_verbs/uverbs*
    if [ -e "$1" ] && text=$(timeout 4 ibv_devinfo) && [ -n "$text" ]; then
        section ibv_devinfo
        printf '%s\n' "$text"
    fi
}

rdma_port() {
    section "rdma-port ${1##*/} $2"
    for key in state phys_state rate lid sm_lid link_layer; do
        value "$key: " "$1/$key"
    done
    value "gid: " "$1/gids/0"
    for number in 0 1 2 3 4 5 6 7; do
        value "gid_type: " "$1/gid_attrs/types/$number"
        value "pkey: " "$1/pkeys/$number"
    done
    value "netdev: " "$1/gid_attrs/ndevs/0"
    for number in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        kind='' gid='' netdev=-
        { IFS= read -r kind <"$1/gid_attrs/types/$number"; } 2>/dev/null
        [ -n "$kind" ] || continue
        { IFS= read -r gid <"$1/gids/$number"; } 2>/dev/null
        { IFS= read -r netdev <"$1/gid_attrs/ndevs/$number"; } 2>/dev/null
        printf 'gids: %s %s %s %s\n' "$number" "$gid" "${netdev:--}" "$kind"
    done
    priorities "$1" "${1%/ports/*}" "${1##*/}"
}

# priorities PORT DEVICE NUMBER: how RoCE marks its packets, and which marks are lossless. dcb's
# questions need no privilege. Bonds answer none.
priorities() {
    kind='' layer='' line='' netdev=''
    { IFS= read -r kind <"$2/node_type"; IFS= read -r layer <"$1/link_layer"; } 2>/dev/null
    case $layer,$kind in Ethernet,1*) ;; *) return ;; esac
    if [ -r "$2/tc/$3/traffic_class" ]; then # empty where it is unset
        IFS= read -r line <"$2/tc/$3/traffic_class"
        printf 'traffic_class: %s\n' "${line:-unset}"
    fi
    value "default_roce_tos: " "/sys/kernel/config/rdma_cm/${2##*/}/ports/$3/default_roce_tos"
    { IFS= read -r netdev <"$1/gid_attrs/ndevs/0"; } 2>/dev/null
    [ -n "$netdev" ] && has dcb || return
    timeout 4 dcb -N pfc show dev "$netdev" | sed -n 's/^ *prio-pfc /prio-pfc: /p'
    timeout 4 dcb -N app show dev "$netdev" | sed -n 's/^ *dscp-prio /dscp-prio: /p'
}

sys_interface() {
    section "sys $1"
    for key in ifindex address operstate carrier speed mtu type; do
        value "$key: " "/sys/class/net/$1/$key"
    done
    ipoib "/sys/class/net/$1"
    behind "/sys/class/net/$1"
    case $1 in
    -*) ;; # ethtool knows no "--": such a name would be read as an option
    *)
        if has ethtool && text=$(ethtool -i "$1" 2>/dev/null); then
            section "ethtool $1"
            printf '%s\n' "$text"
        fi
        ;;
    esac
}

# Old versions of ip and those of busybox know no -j.
addresses() {
    if text=$(ip -d -j addr 2>/dev/null) && [ -n "$text" ]; then
        section ip_json
    elif text=$(ip addr 2>/dev/null) && [ -n "$text" ]; then
        section ip_text
    else
        return
    fi
    printf '%s\n' "$text"
}

queues() {
    if text=$(tc -j qdisc show 2>/dev/null) && [ -n "$text" ]; then
        section tc_json
    elif text=$(tc qdisc show 2>/dev/null) && [ -n "$text" ]; then
        section tc_text
    else
        return
    fi
    printf '%s\n' "$text"
}

# One process reads all settings. Not the shell: it reads byte by byte, and the kernel
# answers the second byte of a numeric setting with end of file.
settings() {
    section settings
    cd /proc/sys && grep -s . net/ipv4/tcp_timestamps net/ipv4/tcp_congestion_control \
        net/ipv4/tcp_rmem net/ipv4/tcp_wmem net/ipv4/tcp_sack net/ipv4/tcp_window_scaling \
        net/ipv4/tcp_mtu_probing net/core/rmem_max net/core/wmem_max net/core/default_qdisc \
        net/core/netdev_max_backlog /dev/null
}

facts() {
    section facts
    sed -n 's/^model name[[:space:]]*: */cpu model: /p' /proc/cpuinfo 2>/dev/null | head -n 1
    value "cpu governor: " /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
    value "transparent hugepages: " /sys/kernel/mm/transparent_hugepage/enabled
    sed -n 's/^Max locked memory *\([^ ]*\) .*/max locked memory bytes: \1/p' \
        /proc/self/limits 2>/dev/null
    value "load average: " /proc/loadavg
    value "NUMA nodes: " /sys/devices/system/node/online
}

probe() {
    LC_ALL=C
    PATH=$PATH:/usr/sbin:/sbin
    export LC_ALL PATH
    section "fabricgauge-probe 1"
    section hostname && uname -n
    section kernel && uname -r
    section boot_id && cat /proc/sys/kernel/random/boot_id
    section net_namespace && readlink /proc/self/ns/net
    section cpus && { getconf _NPROCESSORS_ONLN || nproc; }
    addresses
    queues
    for path in /sys/class/net/*; do
        [ -e "$path/ifindex" ] && sys_interface "${path##*/}"
    done
    rdma_devices
    settings
    facts
    section end
}

probe </dev/null 2>/dev/null
exit 0
