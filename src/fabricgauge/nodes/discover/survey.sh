#!/bin/sh
# Prints everything that a node says of itself, for survey.py. It is fed behind probe.sh,
# whose functions it uses: the quick answer stands whole before this begins, and an answer
# that is cut off later keeps it.
#
# Needs a POSIX shell and nothing else; each file or tool that is missing leaves its section
# out. It reads, changes nothing, needs no privilege, and has the kernel load no module: a tool
# whose question would do that is asked only where the module is there already.

MOST_FUNCTIONS=256
MOST_VIRTUAL=1024
MOST_LINES=20000
TOOL_S=4
FIRST_GPU_S=12

# shown NAME TEXT: a section, unless it is empty. No line of it can begin another section.
shown() {
    [ -n "$2" ] || return
    section "$1"
    printf '%s\n' "$2" | sed -e 's/^== /\\&/' -e "${MOST_LINES}q"
}

# limited COMMAND...: for at most TOOL_S seconds: on a node with broken hardware a tool may hang,
# and one that does not heed the request to end is killed a second later.
limited() {
    case $timed in
    kill) timeout -k 1 "$TOOL_S" "$@" ;;
    end) timeout "$TOOL_S" "$@" ;;
    *) "$@" ;;
    esac
}

# tool COMMAND...: what a tool prints, if it is installed, in a section named by the command.
tool() {
    has "$1" || return
    text=$(limited "$@")
    case $? in
    124 | 137) late="$late$*
" ;;
    esac
    shown "$*" "$text"
}

# children KEY PATH...: the last part of each path that exists.
children() {
    key=$1
    shift
    for child in "$@"; do
        [ -e "$child" ] && printf '%s: %s\n' "$key" "${child##*/}"
    done
}

# Network controllers, fabric controllers, displays and accelerators by their PCI class
# (PCI Code and ID Assignment Specification 1.15: 02, 0C 06, 03, 12).
pci_functions() {
    physical=0 virtual=0
    for path in /sys/bus/pci/devices/*; do
        class=
        { IFS= read -r class <"$path/class"; } 2>/dev/null
        case $class in 0x02* | 0x0c06* | 0x03* | 0x12*) ;; *) continue ;; esac
        # Virtual functions are counted apart: there may be many, on a low bus.
        if [ -e "$path/physfn" ]; then
            virtual=$((virtual + 1))
            [ "$virtual" -gt "$MOST_VIRTUAL" ] && continue
        else
            physical=$((physical + 1))
            [ "$physical" -gt "$MOST_FUNCTIONS" ] && continue
        fi
        section "pci ${path##*/}"
        for key in vendor device class numa_node current_link_speed current_link_width \
            max_link_speed max_link_width; do
            value "$key: " "$path/$key"
        done
        linked driver "$path/driver"
        value "driver_version: " "$path/driver/module/version"
        value "iommu_type: " "$path/iommu_group/type"
        linked physfn "$path/physfn"
        children net "$path"/net/* "$path"/virtio*/net/*
        children infiniband "$path"/infiniband/*
    done
}

# Interfaces with hardware behind them: what ethtool and the interrupts say of each.
wired_interfaces() {
    for path in /sys/class/net/*; do
        [ -e "$path/device" ] || continue
        interface=${path##*/}
        interrupts "$interface" "$path/device"
        case $interface in -*) continue ;; esac
        tool ethtool "$interface"
        tool ethtool -a "$interface"
    done
}

# Message-signalled interrupts and the processors that serve them. A virtio device has
# those of the PCI function above it.
interrupts() {
    for folder in "$2/msi_irqs" "$2/../msi_irqs"; do
        [ -d "$folder" ] || continue
        numbers=$(cd -P "$folder" && printf '%s/effective_affinity_list\n' *)
        # Numbers hold no blanks, so that they may be split.
        # shellcheck disable=SC2086
        shown "irqs $1" "$(cd /proc/irq && grep -s . $numbers /dev/null)"
        return
    done
}

interface_settings() {
    shown interface-settings "$(cd /proc/sys/net/ipv4/conf && grep -s . ./*/rp_filter \
        ./*/arp_ignore ./*/arp_announce ./*/arp_filter /dev/null)"
    shown ipoib "$(cd /sys/class/net && grep -s . ./*/mode /dev/null)"
}

system() {
    shown user "$(id -u)"
    shown limits "$(cat /proc/self/limits)"
    shown memory "$(head -n 3 /proc/meminfo)"
    shown shm "$(df -kP /dev/shm)"
    shown command-line "$(cat /proc/cmdline)"
    shown os-release "$(cat /etc/os-release)"
    shown hosts "$(cksum </etc/hosts)"
    shown iommu "$(ls /sys/kernel/iommu_groups)"
    shown iommu-types "$(cd /sys/class && grep -s . ./net/*/device/iommu_group/type \
        ./infiniband/*/device/iommu_group/type /dev/null)"
    shown lsmod "$(cat /proc/modules)"
    if has systemd-detect-virt; then
        shown machine "$(systemd-detect-virt --vm)"
    else
        shown hypervisor "$(cat /sys/hypervisor/type)"
    fi
    tool systemctl show -p Id,LoadState,ActiveState,UnitFileState \
        opafm.service opensm.service opensmd.service rdma.service firewalld.service nftables.service \
        irqbalance.service NetworkManager.service systemd-networkd.service chronyd.service \
        ntpd.service
    routing
    firewall nft nf_tables /sys/module/nf_tables nft list ruleset
    firewall iptables ip_tables /proc/net/ip_tables_names iptables -S
}

# The kernel's own rules are three; others name tables of their own (ip-rule(8)).
routing() {
    tool ip -j route
    tool ip -j rule
    [ "$(ip rule | wc -l)" -le 3 ] || tool ip -j route show table all
}

# firewall NAME MODULE TRACE COMMAND...: its rules, which only root may read, behind a comment
# that says what came of the question. A module leaves a trace where it is loaded; iptables' is
# the list of its tables, which root may read.
firewall() {
    name=$1 module=$2 trace=$3
    shift 3
    section "$name"
    if ! [ -e "$trace" ] && [ -e /proc/modules ]; then
        echo "# $module is not loaded"
    elif has "$1"; then
        text=$(limited "$@") || { echo "# $* failed" && return; }
        echo "# read"
        printf '%s\n' "$text" | sed -e 's/^== /\\&/' -e "${MOST_LINES}q"
    elif [ -f "$trace" ] && text=$(cat "$trace") && [ -z "$text" ]; then
        echo "# $module has no table"
    else
        echo "# $1 is not installed"
    fi
}

hardware_tools() {
    tool lspci -D -vmm -nn -k
    tool lspci -D -vv
    if ! has ethtool && ! has lspci; then
        tool lshw -quiet -class network
    fi
    set -- /sys/class/infiniband/*
    [ -e "$1" ] || return
    tool rdma -j link
    tool ibstat
    tool opainfo
}

# MPIs and their providers, with the path of each program in a section of its own.
stacks() {
    paths=
    for program in mpirun mpichversion ucx_info fi_info; do
        path=$(command -v "$program") && paths="$paths$program: $path
"
    done
    shown paths "${paths%?}"
    tool mpirun --version
    tool mpichversion
    tool ucx_info -v
    tool fi_info --version
    tool fi_info -l
    environment_modules
}

# Where no persistence daemon runs the driver wakes each GPU for the first question, 1 to 3 s
# each (NVIDIA Driver Persistence, r570): it is asked last, and with more patience.
gpus() {
    [ -e /proc/driver/nvidia/version ] || return
    shown nvidia-driver "$(head -n 1 /proc/driver/nvidia/version)"
    patience=$TOOL_S
    TOOL_S=$FIRST_GPU_S
    tool nvidia-smi --query-gpu=index,name,pci.bus_id --format=csv
    TOOL_S=$patience
    tool nvidia-smi topo -m
    tool nvidia-smi nvlink -s
}

# Lmod and Environment Modules print their lists on standard error.
environment_modules() {
    for command in "${LMOD_CMD:-lmod}" /usr/share/lmod/lmod/libexec/lmod "${MODULES_CMD:-modulecmd}" \
        /usr/share/Modules/libexec/modulecmd.tcl /usr/lib/x86_64-linux-gnu/modulecmd.tcl; do
        has "$command" || continue
        shown "module -t avail" "$(limited "$command" sh -t avail 2>&1)"
        return
    done
}

survey() {
    LC_ALL=C
    PATH=$PATH:/usr/sbin:/sbin
    export LC_ALL PATH
    late=
    # Old busyboxes know no -k, others no timeout at all.
    timed="no"
    timeout 1 true && timed="end"
    timeout -k 1 1 true && timed="kill"
    section "fabricgauge-survey 1"
    pci_functions
    interface_settings
    wired_interfaces
    system
    hardware_tools
    stacks
    gpus
    shown late "${late%?}"
    section "survey end"
}

survey </dev/null 2>/dev/null
exit 0
