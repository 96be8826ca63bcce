#!/bin/sh
# start_node FILES: start munged and slurmd on a node that is a virtual machine. It copies the
# lab's FILES of Slurm, because only the head can write there.
files=$1
PATH=$PATH:/usr/sbin:/sbin
umask 022
for folder in /etc/slurm /run/munge /run/slurm /run/slurm/log /run/slurm/pid /run/slurm/spool; do
    mkdir -p "$folder" && chown 0:0 "$folder" && chmod 755 "$folder" || exit 1
done
cp "$files"/etc/* /etc/slurm/ || exit 1
(umask 077 && cp "$files/munge.key" /run/slurm/munge.key) || exit 1
munged --key-file=/run/slurm/munge.key --socket=/run/munge/munge.socket.2 \
    --seed-file=/run/slurm/munge.seed --pid-file=/run/slurm/pid/munged \
    --log-file=/run/slurm/log/munged.log </dev/null || exit 1
# It leaves this terminal once it has read its configuration.
slurmd </dev/null >/run/slurm/log/slurmd.out 2>&1 || {
    cat /run/slurm/log/slurmd.out >&2
    exit 1
}
