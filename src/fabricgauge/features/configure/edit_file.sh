# edits a file whole or not at all
# A draft beside it is renamed over it. POSIX sh and awk, with coreutils or busybox.
#   put PATH BYTES MODE      it holds what is read; MODE is that of a new file
#   add PATH BYTES           the lines that are read come behind its own
#   cut PATH BYTES           the lines that are read are taken from it again
#   drop PATH BYTES          likewise, and a file that is empty then is removed
#   undo PATH BYTES          what is read is a change, marked as diff does: it is taken back
#   since PATH BEFORE AFTER  likewise, a change that is the difference of two copies of it
set -eu
LC_ALL=C
export LC_ALL
what=$1 path=$2 draft='' why=''
fail() {
    printf 'fabricgauge: %s: %s\n' "$path" "$*" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf -- "$work" ${draft:+"$draft"}' EXIT
trap 'exit 1' HUP INT TERM
[ ! -L "$path" ] || path=$(readlink -f -- "$path")
[ ! -e "$path" ] || [ -f "$path" ] || fail 'it is no regular file'

# prepared: a draft that has the file's mode, owner and context; else why it is written in place,
# where a write can be torn.
prepared() {
    if [ ! -e "$path" ]; then
        return
    elif grep -qsF " $path " /proc/self/mountinfo; then
        why='it is a mount of its own'
    elif [ "$(stat -c %h -- "$path")" != 1 ]; then
        why='it has further names (hard links)'
    elif [ ! -w "${path%/*}/" ]; then
        why='its directory cannot be written'
    else
        draft=$(mktemp "${path%/*}/.fabricgauge-XXXXXX")
        cp -a -- "$path" "$draft"
        [ "$(stat -c '%a %u %g' -- "$path")" = "$(stat -c '%a %u %g' -- "$draft")" ] ||
            why='its owner cannot be kept'
    fi
}

received() {
    cat >"$work/got"
    [ "$(wc -c <"$work/got")" -eq "$1" ] || fail "not all of the $1 bytes came; it is left as it was"
}

# store MODE: the file gets the text of $work/new.
store() {
    if [ -n "$why" ]; then
        printf 'fabricgauge: %s is written in place, not whole or not at all: %s\n' "$path" "$why" >&2
        cat "$work/new" >"$path"
    else
        if [ -z "$draft" ]; then
            mkdir -p -- "${path%/*}/"
            draft=$(mktemp "${path%/*}/.fabricgauge-XXXXXX")
            chmod -- "$1" "$draft"
        fi
        cat "$work/new" >"$draft"
        sync "$draft" 2>/dev/null || :
        mv -f -- "$draft" "$path"
        draft=
    fi
    cmp -s -- "$work/new" "$path" || fail 'it does not hold what was written'
}

# taken_back CHANGE STRICT: $work/new is the file without that change.
taken_back() {
    tr -d '\000' <"$path" | cmp -s - "$path" || fail 'it holds a NUL, which no line editor keeps'
    [ -s "$path" ] && [ -n "$(tail -c 1 -- "$path")" ] && open=1 || open=0
    awk -v strict="$2" -v open="$open" -v torn="${why:+1}" '
    function same(one, ones, two, twos, part,    i) {
        if (part ? ones > twos : ones != twos) return 0
        for (i = 1; i < ones; i++) if (one[i] "" != two[i] "") return 0
        if (part) return ones == 0 || index(two[i], one[i]) == 1
        return ones == 0 || one[i] "" == two[i] ""
    }
    function stands(hunk, at,    i) {
        if (at < 1 || at + adds[hunk] - 1 > n) return 0
        for (i = 0; i < adds[hunk]; i++)
            if (at + i in gone || now[at + i] "" != added[hunk, i] "") return 0
        return 1
    }
    function place(hunk, near,    far) {
        for (far = 0; far <= n + (near < 0 ? -near : near); far++) {
            if (stands(hunk, near + far)) return near + far
            if (stands(hunk, near - far)) return near - far
        }
        return 0
    }
    function emit(line) { if (lines++) print last; last = line }
    function end(unended) { if (lines) printf "%s%s", last, unended ? "" : "\n"; exit }
    BEGIN { n = olds = news = hunks = hunk = old_open = new_open = 0 }
    FILENAME == ARGV[1] {
        sign = substr($0, 1, 1); line = substr($0, 2)
        if (sign == "\\") { if (before != "+") old_open = 1; if (before != "-") new_open = 1; next }
        if (sign == " ") hunk = 0
        else if (!hunk) { hunk = ++hunks; where[hunk] = news + 1 }
        if (sign == "+") added[hunk, adds[hunk]++] = line
        if (sign == "-") cut[hunk, cuts[hunk]++] = line
        if (sign != "+") old[++olds] = line
        if (sign != "-") new[++news] = line
        before = sign
        next
    }
    { now[++n] = $0 }
    END {
        if (strict && (same(now, n, old, olds) && open == old_open \
            || same(now, n, new, news) && open == new_open \
            || torn && (same(now, n, new, news, 1) || same(now, n, old, olds, 1)))) {
            for (i = 1; i <= olds; i++) emit(old[i])
            end(old_open)
        }
        for (hunk = 1; hunk <= hunks; hunk++) {
            near = where[hunk] + shift
            at = adds[hunk] ? place(hunk, near) : near < 1 ? 1 : near > n + 1 ? n + 1 : near
            if (!at && strict) exit 3
            if (!at) continue
            for (i = 0; i < adds[hunk]; i++) gone[at + i]
            puts[at] = puts[at] " " hunk
            shift = at - where[hunk]
        }
        for (at = 1; at <= n + 1; at++) {
            count = split(puts[at], some, " ")
            for (k = 1; k <= count; k++)
                for (i = 0; i < cuts[some[k]]; i++) emit(cut[some[k], i])
            if (at <= n && !(at in gone)) emit(now[at])
        }
        end(open && !(n in gone) && !(n + 1 in puts))
    }' "$1" "$path" >"$work/new" || {
        [ $? -eq 3 ] || fail 'its lines could not be compared'
        fail 'lines of this plan are not there as it wrote them: another plan or somebody changed' \
            'them since; undo later plans first, or put the lines right'
    }
}

prepared
case $what in
put)
    received "$3"
    mv -- "$work/got" "$work/new"
    store "$4"
    ;;
add)
    received "$3"
    [ -z "$why" ] || fail "no lines are added: $why, and its content is not known; add them by hand"
    {
        cat -- "$path"
        [ ! -s "$path" ] || [ -z "$(tail -c 1 -- "$path")" ] || echo
        cat "$work/got"
    } >"$work/new"
    store
    ;;
cut | drop)
    received "$3"
    [ -e "$path" ] || exit 0
    sed 's/^/+/' "$work/got" >"$work/change"
    strict=0
    [ "$what" = cut ] || strict=1
    taken_back "$work/change" "$strict"
    if [ "$what" = cut ] || [ -s "$work/new" ]; then
        store
    else
        rm -f -- "$path"
    fi
    ;;
undo)
    received "$3"
    [ -e "$path" ] || fail 'it is gone'
    taken_back "$work/got" 1
    store
    ;;
since)
    [ -e "$3" ] || exit 0
    after=$4
    [ -e "$after" ] || after=$path # it ended before it could keep what it had made of the file
    diff -U 1000000000 -- "$3" "$after" >"$work/diff" || [ $? -eq 1 ]
    tail -n +4 "$work/diff" >"$work/change"
    if [ -s "$work/change" ]; then
        taken_back "$work/change" 1
        store
    fi
    ;;
esac
