# What a job does with a shell and nothing else; script.py writes the part that calls it.
# It runs in the run directory, and puts what it sees into raw/attempt-N and raw/launch-M-N. Time limits
# are $slowness times as long on emulated processors.

# Who we are. Every start of a job, also after a requeue, is an attempt of its own. A carried job sets
# $first_attempt: it does not see the attempts of the run's other jobs.
begin() {
    PATH=$PATH:/usr/sbin:/sbin
    unset SLURM_JWT        # sbatch has proved with it whose job this is
    unset SLURM_EXPORT_ENV # of a site that starts jobs without variables: steps have this job's
    attempt=${first_attempt:-1}
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
    # What an earlier start told Slurm (give_up) is not true of this one.
    ! grep -q ' Comment=fabricgauge: ' "$here/slurm" || scontrol update JobId="$SLURM_JOB_ID" Comment=fabricgauge
    # A carried job could not use the usual place of its first node.
    [ -z "${reasons:-}" ] || printf '%s, because on %s %s\n' "$base" "$SLURMD_NODENAME" "$reasons" >"$here/base"
    number=0
}

# One step asks all nodes. Its lines carry the task they came from, and srun breaks longer ones, so
# that what a node says is folded, with \001 for the ends of its own lines.
discover() {
    timeout --kill-after=10 "$(($1 * slowness))" srun --label --kill-on-bad-exit=0 --mpi=none \
        --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" \
        sh -c '{ echo "node $SLURMD_NODENAME"; sh -s; } | tr "\n" "\001" | fold -b -w 900' \
        <"$2" >"$here/discovered" 2>"$here/discovered.err"
}

# give_up REASON: this node can hold nothing, and the job's output stays here: Slurm keeps the reason.
give_up() {
    scontrol update JobId="$SLURM_JOB_ID" Comment="fabricgauge: $SLURMD_NODENAME: $1;"
    exit 1
}

# on_this_node CALL...: a call of carry.sh here; it prints only why it failed.
# shellcheck disable=SC2154  # a carried job sets it
on_this_node() { sh -c "$node_script" sh "$@" | sed -n 's/^fail //p'; }

# put_programs: the calls of carry.sh that give a node the programs, and link the MPI's library to them.
# shellcheck disable=SC2086,SC2154  # several names; a carried job sets these
put_programs() {
    "$@" put_and_link "$programs_digest" "$base" "$mark" "$identity-$SLURM_JOB_ID" "$base/$identity" \
        "$library" $sonames
}

# leave_base: the call of carry.sh that undoes put_programs.
leave_base() {
    "$@" drop_and_leave "$base" "$(printf '%.16s' "$programs_digest")" "$identity-$SLURM_JOB_ID" \
        "$base/$identity"
}

# tmp_is_of_job MOUNTINFO: whether /tmp is this job's alone, and removed with it, as /dev/shm is then
# (job_container.conf(5): BasePath/JOBID/.JOBID is mounted there).
tmp_is_of_job() {
    awk -v job="$SLURM_JOB_ID" '
        $5 == "/tmp" && $4 ~ "(^|[^0-9])" job "([^0-9]|$)" { is_own = 1 }
        END { exit !is_own }' "$1" 2>/dev/null
}

# fill BASE PLACE: put the files of the job into PLACE on this node; print why it cannot.
fill() {
    case $2 in
    /tmp/* | /dev/shm/*)
        [ -n "$run_dir" ] || ! tmp_is_of_job /proc/self/mountinfo || {
            echo "$1 is removed with the job"
            return
        }
        ;;
    esac
    reason=$(on_this_node own_folder "$1")
    [ -z "$reason" ] || { echo "$reason"; return; }
    trouble=$({ mkdir -p -- "$2/raw" && cd -- "$2" && write_files; } 2>&1) ||
        echo "$1 cannot hold the job: ${trouble##*: }"
}

# empty PLACE: remove what put_programs put below $base, and what `fill` put into PLACE, unless that is
# the run directory.
empty() {
    if [ -z "$run_dir" ]; then
        rm -rf -- "$1/files.tar.gz" "$1/programs.tar.gz" "$1/${job_folder:?}"
        rmdir -- "$1/raw" "$1" "${1%/*}" 2>/dev/null
    fi
    leave_base on_this_node
}

# enter_run FOLDER BASE...: work in the run directory; without it, or without FOLDER, in a private
# folder of this node, from which the results are fetched later. The first BASE that can hold and start
# the programs here holds them on all nodes.
# shellcheck disable=SC2154  # a carried job sets these
enter_run() {
    umask 077
    run_dir='' reasons='' spare=''
    [ -z "$1" ] || ! cd -- "$1" 2>/dev/null || run_dir=$PWD
    shift
    for base; do
        place=${run_dir:-$base/$identity}
        reason=$(fill "$base" "$place")
        if [ -z "$reason" ]; then
            reason=$(put_programs on_this_node <"$place/programs.tar.gz")
            # No other base has a library: all nodes are asked for it.
            case $reason in '' | 'no library of the MPI '*) break ;; esac
            spare=${spare:-$base}
        fi
        empty "$place"
        reasons="$reasons${reasons:+, }$reason" base=''
    done
    if [ -z "$base" ]; then # no launch is made with this node
        [ -n "$spare" ] || give_up "$reasons"
        base=$spare
        place=${run_dir:-$base/$identity}
        reason=$(fill "$base" "$place")
        [ -z "$reason" ] || give_up "$reason"
        reasons='' # spread_programs tells them
    fi
    cd -- "$place" || exit 1
}

# find_mpiexec: the MPI's launcher on this node: the first of $launchers: a path, or a name in PATH or
# in a usual place.
# shellcheck disable=SC2154  # a carried job sets $launchers
find_mpiexec() {
    for name in $launchers; do
        case $name in
        */*) set -- "$name" ;;
        *)
            set -- "$(command -v "$name")" /usr/lib64/mpich/bin/"$name" \
                /usr/lib64/openmpi/bin/"$name" /usr/lib64/mpi/gcc/*/bin/"$name" \
                /usr/mpi/gcc/*/bin/"$name" /opt/hpcx/ompi/bin/"$name" \
                /opt/intel/oneapi/mpi/latest/bin/"$name"
            ;;
        esac
        for mpiexec; do
            [ -x "$mpiexec" ] && return
        done
    done
    give_up "it has no launcher of the MPI ($launchers)"
}

# spread_programs: each node gets the programs, checks them, and links the MPI's library to them.
spread_programs() {
    put_programs timeout --kill-after=10 "$((120 * slowness))" srun --label --kill-on-bad-exit=0 \
        --mpi=none --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" sh -c "$node_script" sh \
        <programs.tar.gz >"$here/carried" 2>"$here/carried.err"
    # No launch is made with a node that cannot hold them, or whose MPI is not that of most nodes:
    # another job measures the others. A library has texts that its version may be: one is enough.
    awk '
        function are_alike(a, b,    words, i, shared) {
            if (a == "" || b == "") return 1
            for (i = split(a, words); i > 0; i--)
                if (words[i] ~ /^[0-9]/ && index(" " b " ", " " words[i] " ")) shared = 1
            sub(/ [0-9].*/, "", a); sub(/ [0-9].*/, "", b)
            return shared && a == b
        }
        FNR == NR { node[nodes++] = $1; next }
        { task = $1 + 0; sub(/^ *[0-9]+: /, "") }
        $0 == "end" { able[task] }
        sub(/^fail /, "") { reason[task] = $0 }
        sub(/^version /, "") && /[^ ]/ { sub(/ +$/, ""); version[task] = $0; count[$0]++ }
        END {
            for (task = 0; task < nodes; task++)
                if (task in version && count[version[task]] > count[usual]) usual = version[task]
            for (task = 0; task < nodes; task++) {
                why = reason[task]
                if (why == "" && !(task in able)) why = "the copy of the programs was broken off"
                if (why == "" && !are_alike(version[task], usual))
                    why = "its MPI is " version[task] ", that of most nodes is " usual
                if (why != "") print node[task], why
            }
        }' "$here/nodes" "$here/carried" >"$here/unable"
}

# drop_programs: remove them from the nodes, and pack the results if no other folder has them.
drop_programs() {
    leave_base timeout --kill-after=10 "$((60 * slowness))" srun --kill-on-bad-exit=0 --mpi=none \
        --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" sh -c "$node_script" sh >/dev/null 2>&1
    rm -f files.tar.gz programs.tar.gz
}

# find_subnets FAMILIES: subnets of this node, one on each line: the networks to measure. Those of
# private bridges are not cabled; a subnet that another node lacks ends its launch at once. IPv6 on
# an interface with IPv4 is the same wire; FAMILIES is 4 for an MPI that needs IPv4.
find_subnets() {
    known=' '
    for family in $1; do
        ip -o "-$family" address show up scope global 2>>"$here/subnets.err" |
            grep -v -e ' deprecated' -e ' temporary' -e ' tentative' |
            while read -r _ device _ address _; do
                case $device in
                docker* | br-* | virbr* | podman* | cni* | flannel* | cali* | veth*) continue ;;
                esac
                case $known in *" $device "*) continue ;; esac
                printf '%s %s\n' "${device%%@*}" "${address%%[!0-9A-Fa-f.:/]*}"
            done >"$here/subnets-$family"
        while read -r device address; do
            known="$known$device "
            printf '%s\n' "$address"
        done <"$here/subnets-$family"
    done >"$here/subnets"
}

# Networks of RDMA ports, one on each line: technology, how many rails, the ports, their devices.
# Ports are matched by their order on each node; device names may differ between nodes.
find_ports() {
    # shellcheck disable=SC2016  # the nodes expand it
    timeout --kill-after=10 "$((30 * slowness))" srun --kill-on-bad-exit=0 --mpi=none --ntasks-per-node=1 \
        --ntasks="$(wc -l <"$here/nodes")" sh -c '
            for port in /sys/class/infiniband/*/ports/*; do
                read -r state <"$port/state" || continue
                case $state in 4:*) ;; *) continue ;; esac
                device=${port%/ports/*}
                driver=$(readlink "$device/device/driver")
                read -r kind <"$device/node_type"
                read -r layer <"$port/link_layer"
                case ${driver##*/}:${device##*/}:$kind:$layer in
                hfi1:* | *:hfi1_*) technology=omni-path ;;
                efa:*) technology=efa ;;
                siw:* | iw_cxgb4:* | i40iw:* | iw_nes:* | *:4:*) technology=iwarp ;;
                *:InfiniBand) technology=infiniband ;;
                *)
                    types=$(cat "$port"/gid_attrs/types/* 2>/dev/null)
                    technology=roce-v2
                    case $types in *v2*) ;; *v1*) technology=roce-v1 ;; esac
                    ;;
                esac
                printf "%s %s %s:%s\n" "$SLURMD_NODENAME" "$technology" "${device##*/}" "${port##*/}"
            done 2>/dev/null
            for device in /sys/class/cxi/*; do
                [ -e "$device/device" ] || continue
                printf "%s slingshot %s:1\n" "$SLURMD_NODENAME" "${device##*/}"
            done' 2>"$here/ports.err" | sort -s -k 1,1 >"$here/node-ports"
    awk -v nodes="$(wc -l <"$here/nodes")" '
        { rail = ++count[$1, $2]; key = $2 SUBSEP rail; seen[key]++; if (rail > rails[$2]) rails[$2] = rail
          if (!((key, $3) in known)) { known[key, $3]; ports[key] = ports[key] "," $3 } }
        function line(technology, width, list,    parts, number, i, device, devices) {
            list = substr(list, 2)
            number = split(list, parts, ",")
            for (i = 1; i <= number; i++) {
                device = parts[i]; sub(/:[0-9]+$/, "", device)
                if (index("," devices ",", "," device ",") == 0) devices = devices (devices ? "," : "") device
            }
            print technology, width, list, devices
        }
        END {
            for (technology in rails) {
                joined = ""; whole = 0
                for (rail = 1; rail <= rails[technology]; rail++) {
                    key = technology SUBSEP rail
                    if (seen[key] == nodes) { whole++; joined = joined ports[key] }
                }
                if (whole > 1) line(technology, whole, joined)
                for (rail = 1; rail <= rails[technology]; rail++) {
                    key = technology SUBSEP rail
                    if (seen[key] == nodes) line(technology, 1, ports[key])
                }
            }
        }' "$here/node-ports" >"$here/ports"
}

# use_ports WANTED TECHNOLOGY PORTS DEVICES: whether a network is of the wanted technology; then its
# name for `launch`, and its only device, which some providers need.
use_ports() {
    [ "$1" = "$2" ] || return
    subnet="$2 $3" device='' unit=''
    case $4 in *,*) ;; *) device=$4 ;; esac
    # shellcheck disable=SC2034  # launches use it
    case $device in hfi1_*) unit=${device#hfi1_} ;; esac
}

# connect PROGRAM FIRST COUNT: on this $subnet every node connects to every other, by one of COUNT
# ports from FIRST on. A subnet on which one of them cannot is "dead": no launch is made there.
connect() {
    round=$((${round:-0} + 1))
    [ ! -s "$here/unable" ] || return
    case $subnet in *:*) return ;; esac # only IPv4 is tried
    place=$here/connect-$round
    mkdir "$place" || return
    printf '%s\n' "$subnet" >"$place/subnet"
    [ -e "$here/addresses" ] || # one line for each: node, address/prefix
        timeout --kill-after=10 "$((30 * slowness))" srun --kill-on-bad-exit=0 --mpi=none --ntasks-per-node=1 \
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
    for _ in 1 2 3; do
        try_connections "$place" "$1" "$(($2 + $(od -A n -N 2 -t u2 /dev/urandom) % $3))" "$count"
        port_is_taken "$place" || break # by another program on some node
    done
    if [ "$(count_listening "$place")" -lt "$count" ] || port_is_taken "$place"; then
        : >"$place/late" # nothing is known of the network
        return
    fi
    cat "$place"/*.txt 2>/dev/null | grep '"to":' | grep -vq '"phase":"done"' &&
        printf '%s\n' "$subnet" >>"$here/dead"
}

# try_connections PLACE PROGRAM PORT COUNT: let the COUNT members of the round there connect by PORT.
# The nodes may share no folder with this one.
try_connections() {
    : >"$1/step"
    rm -f "$1"/*.txt # of an earlier try
    hold_back "$1" "$4" |
        timeout --kill-after=10 "$((90 * slowness))" srun --label --kill-on-bad-exit=0 --mpi=none \
        --ntasks-per-node=1 --ntasks="$(wc -l <"$here/nodes")" sh -c '
            members=$(while read -r node ip && [ "$node" != end ]; do echo "$node $ip"; done)
            # Partners begin with the next node, so that at each moment all send to different ones.
            set -- "$@" $(echo "$members" | awk -v me="$SLURMD_NODENAME" "
                { node[NR] = \$1; ip[NR] = \$2; if (\$1 == me) own = NR }
                END {
                    if (!own) exit
                    printf \"%d listen %s\", own, ip[own]
                    for (i = 1; i < NR; i++) {
                        to = (own - 1 + i) % NR + 1
                        printf \" to %d %s %s\", to, ip[own], ip[to]
                    }
                }")
            [ $# -gt 4 ] || exit 0
            program=$1 token=$2 port=$3 count=$4 own=$5
            shift 5
            "$program" "$token" "$own" "$port" 65536 "$((count - 1))" "$@"
        ' sh "$2" "$(od -A n -N 8 -t x1 /dev/urandom | tr -d " \n")" "$3" "$4" >"$1/step" 2>"$1/step.err"
    sort -s -n -k 1,1 "$1/step" | awk -v place="$1" '
        FNR == NR { node[FNR - 1] = $1; next }
        { task = $1 + 0; sub(/^ *[0-9]+: /, "") }
        task != last { close(file) }
        { file = place "/" node[task] ".txt"; last = task; print >>file }' "$here/nodes" -
}

# count_listening PLACE: how many of the connecting programs have printed there that they listen.
count_listening() { grep -o '"listening"' "$1/step" 2>/dev/null | wc -l; }

# port_is_taken PLACE: whether a program could not listen there because another one uses the port.
port_is_taken() { grep -q '"listening".*"error":"Address already in use"' "$1/step"; }

# hold_back PLACE COUNT: print the members of the round, then nothing until COUNT programs listen: they
# begin at the end of their standard input. A node that does not start theirs is awaited for 30 s.
hold_back() {
    cat "$1/members"
    echo end
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
    [ ! -s "$here/unable" ] || return 0
    [ -z "${subnet:-}" ] || ! grep -qsxF -- "$subnet" "$here/dead" || return 0
    padded=$(printf '%02d' "$number")
    made "$padded" && return
    folder=raw/launch-$padded-$attempt
    mkdir "$folder" || exit 1
    printf '%s\n' "${subnet:-}" >"$folder/subnet"
    cp "$cases" "$folder/stdin.txt"
    printf '%s\n' "$@" >"$folder/command"
    date +%s >"$folder/began"
    timeout --kill-after=10 "$((limit * slowness))" "$@" <"$cases" >"$folder/stdout.jsonl" 2>"$folder/stderr.txt"
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
