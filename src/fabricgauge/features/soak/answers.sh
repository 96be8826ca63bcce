# Time one round of what management asks: echoes and connections to peers, and the fabric's tools.
# Arguments: the interface of the network, the traffic class of a further echo (its TOS byte, or
# none), then the peers' addresses. One line for each answer:
#   answer KIND PEER EXIT NANOSECONDS [MILLISECONDS]
# The nanoseconds hold the start of the program; the milliseconds are ping's own.
# EXIT is 0 for an answer, 126 or 127 if it cannot be asked; any other is a missing answer, 124 one
# that did not come within the limit.
# A closed port answers as well as an open one: the kernel refuses the connection.
export LC_ALL=C
interface=$1
class=$2
shift 2

now() { date +%s%N; }

# report KIND PEER EXIT BEGAN [MILLISECONDS]
report() { echo "answer $1 $2 $3 $(($(now) - $4)) $5"; }

# echo_to PEER KIND OPTION...
echo_to() {
  peer=$1 kind=$2
  shift 2
  began=$(now)
  said=$(timeout 3 ping -n -c 1 -W 2 -I "$interface" "$@" "$peer" 2>&1)
  code=$?
  # iputils: 1 is no reply; 2 is any other error: a missing right, or a network that is gone
  [ "$code" = 1 ] && code=124
  report "$kind" "$peer" "$code" "$began" \
    "$(echo "$said" | sed -n 's/.* time=\([0-9.]*\) ms.*/\1/p' | head -n 1)"
}

for peer in "$@"; do
  if command -v ping >/dev/null 2>&1; then
    echo_to "$peer" echo
    [ "$class" = none ] || echo_to "$peer" "echo-$class" -Q "$class"
  fi
  if command -v bash >/dev/null 2>&1; then
    began=$(now)
    said=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/$1/1"' - "$peer" 2>&1)
    code=$?
    case $said in *refused*) code=0 ;; esac
    [ "$code" = 1 ] && code=124
    report connect "$peer" "$code" "$began"
  fi
done
for tool in true ibstat opainfo perfquery ibv_devinfo; do
  command -v "$tool" >/dev/null 2>&1 || continue
  began=$(now)
  timeout 5 "$tool" </dev/null >/dev/null 2>&1
  report "$tool" - "$?" "$began"
done
