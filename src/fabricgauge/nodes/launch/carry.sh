# What a node does when it is asked for a program, or gets one: "$@" is one of the calls below.
# carrying.py starts it with sh -c. It prints a line for each fact, and `end`.
set -u
PATH=$PATH:/usr/sbin:/sbin

digest() { sha256sum -- "$1" 2>/dev/null | cut -d ' ' -f 1; }

fail() {
    printf 'fail %s\n' "$*"
    exit 0
}

# have SHA256 FILE...: which of the files are that program, and can be executed.
have() {
    wanted=$1
    shift
    for file; do
        [ -f "$file" ] && [ -x "$file" ] && [ "$(digest "$file")" = "$wanted" ] &&
            printf 'have %s\n' "$file"
    done
}

# versions FILE: the family of an MPI's library, and all texts in it that its version may be. The text of
# MPI_Get_library_version is put together at run time; the number alone lies between zero bytes.
versions() {
    family=$(grep -a -o -m 1 -E 'Open MPI v|MPICH Version|Intel\(R\) MPI Library' "$1" 2>/dev/null | head -n 1)
    case $family in
    Open*) family='Open MPI' number='[1-9]\.[0-9]+\.[0-9]+' ;;
    MPICH*) family=MPICH number='[3-9]\.[0-9]+(\.[0-9]+)?' ;;
    Intel*) family='Intel MPI' number='20[0-9][0-9]\.[0-9]+(\.[0-9]+)?' ;;
    *) return ;;
    esac
    numbers=$(tr '\000' '\n' <"$1" | LC_ALL=C grep -a -x -E "$number((a|b|rc|p)[0-9]+)?" | sort -u | tr '\n' ' ')
    [ -z "$numbers" ] || printf '%s %s' "$family" "$numbers"
}

# library SHA256 FILE: the MPI's library here, at the head's path or another.
library() {
    alike=$1 name=${2##*/}
    # shellcheck disable=SC2016  # the login shell expands it: it may have loaded modules
    login=$(sh -lc 'printf "%s" "${LD_LIBRARY_PATH:-}"' 2>/dev/null </dev/null | tail -n 1)
    listed=$(ldconfig -p 2>/dev/null | sed -n "s|^[[:space:]]*$name .*=> ||p" | head -n 1)
    folders=$(printf '%s:%s' "${LD_LIBRARY_PATH:-}" "$login" | tr ':' '\n')
    for file in "$2" "$listed" $(printf '%s\n' "$folders" | sed -n "s|\$|/$name|p") \
        /usr/lib64/openmpi/lib/"$name" /usr/lib64/mpich/lib/"$name" \
        /usr/lib64/mpi/gcc/*/lib64/"$name" /usr/mpi/gcc/*/lib64/"$name" /opt/hpcx/ompi/lib/"$name" \
        /opt/intel/oneapi/mpi/latest/lib/"$name" /opt/openmpi/lib/"$name" /opt/mpich/lib/"$name"; do
        [ -f "$file" ] || continue
        if [ "$(digest "$file")" = "$alike" ]; then
            printf 'library alike %s\n' "$file"
        else
            printf 'version %s\nlibrary other %s\n' "$(versions "$file")" "$file"
        fi
        return
    done
    printf 'library none\n'
}

# own_folder FOLDER: make it ours alone, or fail.
own_folder() {
    mkdir -p -- "$1" 2>/dev/null
    [ -d "$1" ] || fail "$1 cannot be made: $(mkdir -- "$1" 2>&1 | tail -n 1)"
    if [ -L "$1" ] || [ ! -O "$1" ]; then fail "$1 belongs to another user"; fi
    chmod 700 -- "$1" 2>/dev/null
    case $(ls -ld -- "$1") in drwx------*) ;; *) fail "$1 is open to other users" ;; esac
}

# lock FOLDER: nobody else marks or drops below it, where the system has flock.
lock() {
    command -v flock >/dev/null && { command exec 9<"$1"; } 2>/dev/null && flock -w 20 9 2>/dev/null
    return 0
}

# mark FOLDER USER: USER, a run, needs the program in FOLDER on this node.
mark() {
    lock "${1%/*}"
    own_folder "$1"
    own_folder "$1/used"
    trouble=$({ : >"$1/used/$2.$(uname -n)"; } 2>&1) ||
        fail "$1 cannot hold the program: ${trouble##*: }"
    exec 9<&-
}

# others FOLDER USER: other runs, or this one on other nodes, need the program. The mark of a run that
# was killed counts for a week.
others() {
    [ -n "$(find "$1/used" -type f ! -name "$2.$(uname -n)" \
        \( -mtime -7 -o -name 'kept.*' \) 2>/dev/null)" ]
}

# hold SHA256 BASE NAME USER: mark a program that is here, and say if it still is.
hold() {
    folder=$2/$(printf '%.16s' "$1")
    umask 077
    own_folder "$2"
    mark "$folder" "$4"
    have "$1" "$folder/$3"
}

# put SHA256 BASE NAME KIND USER: what standard input brings becomes BASE/DIGEST/NAME.
put() {
    wanted=$1 base=$2 name=$3 kind=$4 user=$5 new=''
    umask 077
    own_folder "$base"
    folder=$base/$(printf '%.16s' "$wanted")
    mark "$folder" "$user"
    # Other nodes may share the folder: no name in it comes from a process number.
    trap 'rm -f -- "$new"; drop "$base" "${folder##*/}" "$user"' EXIT
    new=$(mktemp "$folder/.new-XXXXXX" 2>&1) ||
        fail "$folder cannot hold the program: ${new##*: }"
    trouble=$({ cat >"$new"; } 2>&1) || fail "$folder cannot hold the program: ${trouble##*: }"
    [ "$(digest "$new")" = "$wanted" ] || fail "the program arrived damaged in $folder"
    try=$(mktemp "$folder/.try-XXXXXX" 2>&1) ||
        fail "$folder cannot hold the program: ${try##*: }"
    printf '#!/bin/sh\n' >"$try"
    chmod 700 -- "$try" "$new"
    "$try" 2>/dev/null
    status=$?
    rm -f -- "$try"
    [ "$status" = 0 ] || fail "$folder forbids execution (mount option noexec)"
    if [ "$kind" = archive ] && [ -f "$folder/$name" ] && others "$folder" "$user"; then
        : # another run works with these files
    elif [ "$kind" = archive ]; then
        trouble=$(tar -xzf "$new" -C "$folder" 2>&1) ||
            fail "$folder cannot hold the MPI: $(printf '%s' "$trouble" | head -n 1)"
        : >"$folder/$name"
    else
        mv -f -- "$new" "$folder/$name"
    fi
    trap 'rm -f -- "$new"' EXIT
    printf 'have %s\n' "$folder/$name"
}

# put_and_link SHA256 BASE NAME USER PLACE LIBRARY SONAME...: put an archive; lib/SONAME in its folder
# becomes the MPI's library of this node. MPICH's ABI has two names: the first SONAME is wanted. If the
# library has that name, lib is a link to its folder: it may load others from beside itself ($ORIGIN).
# PLACE is the job's working directory, which launchers want on each node.
put_and_link() {
    put "$1" "$2" "$3" archive "$4"
    mkdir -p -- "$5"
    at=$6
    shift 6
    wanted=$1
    for soname; do
        found=$(library '' "${at%/*}/$soname")
        path=$(printf '%s\n' "$found" | sed -n 's/^library other //p')
        [ -n "$path" ] || continue
        if [ "${path##*/}" = "$wanted" ]; then
            [ -d "$folder/lib" ] && [ ! -L "$folder/lib" ] && rm -rf -- "${folder:?}/lib"
            ln -sfn -- "${path%/*}" "$folder/lib"
        else
            [ ! -L "$folder/lib" ] || rm -f -- "$folder/lib"
            mkdir -p -- "$folder/lib"
            ln -sf -- "$path" "$folder/lib/$wanted"
        fi
        printf '%s\nlinked %s\n' "${found%%
library *}" "$path"
        return
    done
    fail "no library of the MPI ($*) was found; load its module before you submit"
}

# drop BASE DIGEST USER: USER needs the program no more. The last user removes what put made, and
# BASE if nothing else is in it.
drop() {
    case $2 in *[!0-9a-f]* | '') return 0 ;; esac
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return 0
    lock "$1"
    rm -f -- "${1:?}/$2/used/$3.$(uname -n)"
    others "$1/$2" "$3" || rm -rf -- "${1:?}/$2"
    rmdir -- "$1" 2>/dev/null
    exec 9<&-
}

# drop_and_leave BASE DIGEST USER PLACE: drop, and remove a working directory that holds nothing.
drop_and_leave() {
    rmdir -- "$4" 2>/dev/null
    drop "$1" "$2" "$3"
}

# ask SHA256 LIBRARY-SHA256 LIBRARY HELPER FILE...: which files are the program, and which MPI is here.
# LIBRARY and HELPER are paths on the head, or empty. HELPER is what the MPI's launcher starts.
ask() {
    wanted=$1
    printf 'machine %s\n' "$(uname -m)"
    [ -z "$3" ] || library "$2" "$3"
    [ -z "$4" ] || [ -x "$4" ] || printf 'helper none\n'
    shift 4
    have "$wanted" "$@"
}

"$@"
printf 'end\n'
