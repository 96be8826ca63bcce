# What a job does with a shell and nothing else; script.py writes the part that calls it.
# It runs in the run directory, and puts what it sees into raw/attempt-N and raw/launch-M-N.

# Who we are. Every start of a job, also after a requeue, is an attempt of its own.
begin() {
    PATH=$PATH:/usr/sbin:/sbin
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
