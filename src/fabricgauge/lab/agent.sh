#!/bin/sh
# agent [OPTION...] [USER@]HOST COMMAND...: called as ssh is by an MPI's launcher. As with
# ssh, the words of the command are joined and read by a shell on the node.
while [ $# -gt 0 ]; do
    case $1 in
    --) shift && break ;;
    -[BbcDEeFIiJLlmOoPpQRSWw])
        shift
        [ $# -gt 0 ] && shift
        ;;
    -?*) shift ;;
    *) break ;;
    esac
done
if [ $# -lt 2 ]; then
    echo 'usage: agent [OPTION...] HOST COMMAND...' >&2
    exit 255
fi
host=${1##*@}
shift
exec sh "${0%/*}/enter" "$host" sh -c "$*"
