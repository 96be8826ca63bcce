# Time one round of what management asks: echoes and connections to peers, and the fabric's tools.
# Arguments: the interface of the network, then the peers' addresses. One line for each answer:
#   answer KIND PEER EXIT NANOSECONDS
# EXIT is 0 for an answer, 124 for none within the limit, 126 or 127 if it cannot be asked.
# A closed port answers as well as an open one: the kernel refuses the connection.
export LC_ALL=C
interface=$1
shift

now() { date +%s%N; }

# report KIND PEER EXIT BEGAN
report() { echo "answer $1 $2 $3 $(($(now) - $4))"; }

for peer in "$@"; do
  began=$(now)
  if command -v ping >/dev/null 2>&1; then
    timeout 3 ping -n -q -c 1 -W 2 -I "$interface" "$peer" >/dev/null 2>&1
    code=$?
    # iputils: 1 is no reply, 2 any other error, such as a missing right
    case $code in 1) code=124 ;; 2) code=126 ;; esac
    report echo "$peer" "$code" "$began"
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
