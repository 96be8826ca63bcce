#!/bin/busybox sh
# The first program of a guest: loads modules, lays a writable layer over the machine's own
# files, and becomes the lab's `furnish`. The kernel hands on $lab and $node from its command line.
# shellcheck disable=SC2154
export PATH=/bin
busybox mount -t proc proc /proc
for module in /modules/*; do
    busybox insmod "$module" || echo "fabricgauge: ${module##*-} cannot be loaded"
done
# What is read once stays in the guest's memory: a machine without KVM reads slowly.
busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,ro,cache=loose machine /machine &&
    busybox mount -t tmpfs -o mode=755 tmpfs /layer &&
    busybox mkdir /layer/upper /layer/work &&
    busybox mount -t overlay -o lowerdir=/machine,upperdir=/layer/upper,workdir=/layer/work \
        overlay /root &&
    busybox umount /proc &&
    exec busybox switch_root /root /bin/sh "$lab/furnish" "$node"
echo 'fabricgauge: the files of the machine cannot be mounted'
