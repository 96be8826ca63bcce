# What a job does with a shell and nothing else; script.py writes the part that calls it.
# It runs in the run directory, and puts what it sees into raw/attempt-N and raw/launch-M-N.

# Who we are. Every start of a job, also after a requeue, is an attempt of its own.
begin() {
    PATH=$PATH:/usr/sbin:/sbin
    unset SLURM_JWT        # sbatch has proved with it whose job this is
    unset SLURM_EXPORT_ENV # of a site that starts jobs without variables: steps have this job's
    attempt=1
    until mkdir "raw/attempt-$attempt" 2>/dev/null; do
        [ -d "raw/attempt-$attempt" ] || { # once more, to be heard
            mkdir "raw/attempt-$attempt"
            exit 1
        }
        attempt=$((attempt + 1))
    done
    here=raw/attempt-$attempt
    printf '%s\n' "${SLURM_JOB_ID:-}" >"$here/job"
    printf '%s\n' "$1" >"$here/folder"
    scontrol show hostnames "$SLURM_JOB_NODELIST" >"$here/nodes.new" || exit 1
    mv "$here/nodes.new" "$here/nodes"
    scontrol --oneliner show job "${SLURM_JOB_ID:-0}" >"$here/slurm" 2>&1
    number=0
}

# One step asks all nodes. Its lines carry the task they came from, and srun breaks longer ones, so
# that what a node says is folded, with \001 for the ends of its own lines.
discover() {
    timeout --kill-after=10 "$1" srun --label --kill-on-bad-exit=0 --mpi=none \
        --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" \
        sh -c '{ echo "node $SLURMD_NODENAME"; sh -s; } | tr "\n" "\001" | fold -b -w 900' \
        <"$2" >"$here/discovered" 2>"$here/discovered.err"
}

# Subnets of this node, one on each line: the networks to measure. Those of private bridges are not
# cabled; a subnet that another node lacks ends its launch at once.
find_subnets() {
    ip -o -4 address show up scope global 2>"$here/subnets.err" |
        while read -r _ device _ address _; do
            case $device in
            docker* | br-* | virbr* | podman* | cni* | flannel* | cali* | veth*) ;;
            *) printf '%s\n' "${address%%[!0-9./]*}" ;;
            esac
        done >"$here/subnets"
}

# connect PROGRAM FIRST COUNT: on this $subnet every node connects to every other, by one of COUNT
# ports from FIRST on. A subnet on which one of them cannot is "dead": no launch is made there.
connect() {
    round=$((${round:-0} + 1))
    place=$here/connect-$round
    mkdir "$place" || return
    printf '%s\n' "$subnet" >"$place/subnet"
    [ -e "$here/addresses" ] || # one line for each: node, address/prefix
        timeout --kill-after=10 30 srun --kill-on-bad-exit=0 --mpi=none --ntasks-per-node=1 \
            --ntasks="$(wc -l <"$here/nodes")" sh -c '
                PATH=$PATH:/usr/sbin:/sbin
                ip -o -4 address show up scope global | while read -r _ _ _ address _; do
                    printf "%s %s\n" "$SLURMD_NODENAME" "${address%%[!0-9./]*}"
                done' >"$here/addresses" 2>"$here/addresses.err"
    # Nodes with their first address in the subnet, in the order of the job's nodes.
    awk -v subnet="$subnet" '
        function part(address, of) {
            split(address, of, /[.\/]/)
            return int((((of[1] * 256 + of[2]) * 256 + of[3]) * 256 + of[4]) / size)
        }
        BEGIN { split(subnet, whole, "/"); size = 2 ^ (32 - whole[2]); own = part(subnet) }
        FNR == NR { nodes[++count] = $1; next }
        !($1 in ip) && part($2) == own { split($2, pieces, "/"); ip[$1] = pieces[1] }
        END { for (i = 1; i <= count; i++) if (nodes[i] in ip) print nodes[i], ip[nodes[i]] }
    ' "$here/nodes" "$here/addresses" >"$place/members"
    count=$(wc -l <"$place/members")
    [ "$count" -gt 1 ] || return
    hold_back "$place" "$count" |
        timeout --kill-after=10 90 srun --unbuffered --kill-on-bad-exit=0 --mpi=none \
        --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" sh -c '
            # Partners begin with the next node, so that at each moment all send to different ones.
            set -- "$@" $(awk -v me="$SLURMD_NODENAME" "
                { node[NR] = \$1; ip[NR] = \$2; if (\$1 == me) own = NR }
                END {
                    if (!own) exit
                    printf \"%d listen %s\", own, ip[own]
                    for (i = 1; i < NR; i++) {
                        to = (own - 1 + i) % NR + 1
                        printf \" to %d %s %s\", to, ip[own], ip[to]
                    }
                }" "$1/members")
            [ $# -gt 5 ] || exit 0
            place=$1 program=$2 token=$3 port=$4 count=$5 own=$6
            shift 6
            "$program" "$token" "$own" "$port" 65536 "$((count - 1))" "$@" \
                2>"$place/$SLURMD_NODENAME.err" | tee "$place/$SLURMD_NODENAME.txt"
        ' sh "$place" "$1" "$(od -A n -N 8 -t x1 /dev/urandom | tr -d " \n")" "$(($2 + ($$ + round) % $3))" \
        "$count" >"$place/step" 2>&1
    if [ "$(count_listening "$place")" -lt "$count" ]; then
        : >"$place/late" # nothing is known of the network
        return
    fi
    cat "$place"/*.txt 2>/dev/null | grep '"to":' | grep -vq '"phase":"done"' &&
        printf '%s\n' "$subnet" >>"$here/dead"
}

# count_listening PLACE: how many of the connecting programs have printed there that they listen.
count_listening() { grep -o '"listening"' "$1/step" 2>/dev/null | wc -l; }

# hold_back PLACE COUNT: the programs begin at the end of their standard input, which is what this
# prints: nothing, until COUNT of them listen. A node that does not start theirs is awaited for 30 s.
hold_back() {
    seconds=0
    until [ "$(count_listening "$1")" -ge "$2" ] || [ "$seconds" -ge 30 ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
}

# Whether this launch ended well in an earlier start of this job, on the same nodes.
made() {
    for folder in "raw/launch-$1"-*; do
        [ "$(cat "$folder/exit" 2>/dev/null)" = 0 ] || continue
        cmp -s "raw/attempt-${folder##*-}/job" "$here/job" || continue
        [ "$(cat "$folder/subnet" 2>/dev/null)" = "${subnet:-}" ] || continue
        cmp -s "raw/attempt-${folder##*-}/nodes" "$here/nodes" && return 0
    done
    return 1
}

# launch CASES SECONDS COMMAND...: the launch of this $number, unless it was made before.
launch() {
    cases=$1 limit=$2
    shift 2
    [ -z "${subnet:-}" ] || ! grep -qsxF -- "$subnet" "$here/dead" || return 0
    padded=$(printf '%02d' "$number")
    made "$padded" && return
    folder=raw/launch-$padded-$attempt
    mkdir "$folder" || exit 1
    printf '%s\n' "${subnet:-}" >"$folder/subnet"
    cp "$cases" "$folder/stdin.txt"
    printf '%s\n' "$@" >"$folder/command"
    date +%s >"$folder/began"
    timeout --kill-after=10 "$limit" "$@" <"$cases" >"$folder/stdout.jsonl" 2>"$folder/stderr.txt"
    status=$?
    date +%s >"$folder/ended"
    printf '%s\n' "$status" >"$folder/exit.new"
    mv "$folder/exit.new" "$folder/exit"
}

# The same on this node alone: an MPI that knows of the job would use all its nodes.
launch_here() (
    for name in $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\)=.*/\1/p;s/^\(PMI[A-Z0-9_]*\)=.*/\1/p'); do
        unset "$name"
    done
    launch "$@"
)

finish() { : >"$here/end"; }
