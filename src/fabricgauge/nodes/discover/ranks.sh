# The ranks of one launch on this node: a line "rank STATE" for each, a line "asks ADDRESS" for each
# TCP connection that waits for its first answer (state 02 of proc(5), net/tcp), then "end".
# $1: the mark in their environment. Nodes of a lab share /proc, but not the network namespace.
here=$(readlink /proc/self/ns/net 2>/dev/null)
for file in $(grep -lsxzF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
    process=${file%/environ}
    read -r name 2>/dev/null <"$process/comm" || continue
    case $name in fabricgauge-eng*) ;; *) continue ;; esac
    [ "$(readlink "$process/ns/net" 2>/dev/null)" = "$here" ] || continue
    while read -r key state _; do
        [ "$key" = State: ] && echo "rank $state"
    done <"$process/status" 2>/dev/null
done
for file in /proc/net/tcp /proc/net/tcp6; do
    while read -r _ _ remote state _; do
        [ "$state" = 02 ] && echo "asks ${remote%:*}"
    done <"$file" 2>/dev/null
done
echo end
exit 0
