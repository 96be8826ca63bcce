#!/bin/sh
# furnish NODE: make the virtual machine that runs this one node of the lab whose directory holds
# this script. It is process 1; once the node stands, sshd takes its place. The kernel hands on
# $interface_in from its command line.
# shellcheck disable=SC2154
lab=${0%/*}
node=$1
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

fail() {
    echo "fabricgauge: $1"
    sleep 1 # the console is slow
    exit 1
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm /run/sshd /run/netns
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
echo "$node" >/proc/sys/kernel/hostname
echo "$node" >/etc/hostname
cp "$lab/hosts/$node" /etc/hosts
cp "$lab/ssh_config" /etc/ssh/ssh_config
cp "$lab/passwd" /etc/passwd
rm -f /etc/shadow # it may be closed to this user, or lock root out; sshd then refuses any key
echo 'root:*:::::::' >/etc/shadow
: >/run/fabricgauge-guest
# shellcheck disable=SC3045  # no POSIX, but in every sh of Linux (dash, bash, busybox)
ulimit -l unlimited # adapters lock memory

for scope in all default; do # its housekeeping packets would stand in the counters
    echo 1 >"/proc/sys/net/ipv6/conf/$scope/disable_ipv6"
done
ip link set lo up
while read -r interface address mtu type device; do
    options='brd +'
    case $address in
    *:*)
        options=nodad
        for name in lo "$interface"; do # without lo a node cannot reach its own address
            echo 0 >"/proc/sys/net/ipv6/conf/$name/disable_ipv6"
        done
        ;;
    esac
    ip link set "$interface" mtu "$mtu" up || fail "$interface cannot be brought up"
    # shellcheck disable=SC2086  # one word or two
    ip addr add "$address" dev "$interface" $options || fail "$interface cannot have $address"
    [ "$type" = - ] || rdma link add "$device" type "$type" netdev "$interface" ||
        fail "$device cannot be made"
done <"$lab/interfaces/$node"

# The machine's way in is an interface that programs on the node do not see. Its PCI device reads as
# a system peripheral (PCI Code and ID Assignment, class 08 80): the node has no adapter beside the
# lab's networks.
pci=$(readlink -f "/sys/class/net/$interface_in/device/..")
mkdir /run/door
for file in vendor device resource config; do
    cat "$pci/$file" >"/run/door/$file"
done
echo 0x088000 >/run/door/class
mount --bind /run/door "$pci"
ip netns add door
ip link set "$interface_in" netns door || fail 'no way in'
ip -n door link set lo up
ip -n door addr add 10.0.2.15/24 dev "$interface_in"
ip -n door link set "$interface_in" up
nsenter --net=/run/netns/door /usr/sbin/sshd -E /dev/console -f "$lab/sshd_config" || fail 'sshd does not start'
echo "fabricgauge: $node stands"
exec /usr/sbin/sshd -D -e -f "$lab/sshd_config"
