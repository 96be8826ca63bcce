#
# sh SCRIPT                        run the steps in order; stop at the first failure
# sh SCRIPT apply CONSENT...       the same, with consent to steps that ask for it, e.g. reboot
# sh SCRIPT undo NUMBER...         undo these steps, in this order
#
# Exit status: 0 configured as planned, 1 a step failed, 2 usage, 3 a program or a consent is missing.
set -u
exec </dev/null

newline='
'
made=
consents=

# plan_shows EXPECTED COMMAND...: check that the command exits with 0 and prints EXPECTED.
plan_shows() {
    expected=$1
    shift
    answer=$("$@" 2>/dev/null) || return 1
    case $newline$answer$newline in
    *"$expected"*) return 0 ;;
    esac
    return 1
}

# plan_shows_no EXPECTED COMMAND...: check that it exits with 0 and does not print EXPECTED.
plan_shows_no() {
    expected=$1
    shift
    answer=$("$@" 2>/dev/null) || return 1
    case $newline$answer$newline in
    *"$expected"*) return 1 ;;
    esac
    return 0
}

plan_say() {
    printf '%s\n' "$*"
}

plan_stop() {
    status=$1
    shift
    plan_say "$*" >&2
    [ -z "$made" ] || plan_say "to undo the changes: sh $0 undo$made" >&2
    exit "$status"
}

# plan_patiently SECONDS NUMBER: wait until the step's verification holds, at most SECONDS.
plan_patiently() {
    left=$1
    until plan_verified "$2"; do
        [ "$left" -gt 0 ] || return 1
        sleep 1
        left=$((left - 1))
    done
}

# plan_due NUMBER WHEN: check whether the step has to run.
plan_due() {
    case $2 in
    always | look) return 0 ;;
    follows) [ -z "$made" ] || return 0 ;;
    esac
    ! plan_verified "$1"
}

# plan_step NUMBER WHEN CONSENT SECONDS TITLE: run a step. WHEN: "check" if its verification does
# not hold yet, "follows" also after another step has run, "always", "look" if it only verifies.
plan_step() {
    if ! plan_due "$1" "$2"; then
        plan_say "$1. no change needed: $5"
        return
    fi
    if [ -n "$3" ]; then
        case " $consents " in
        *" $3 "*) ;;
        *) plan_stop 3 "$1. not run, nor any step after it: $5: consent is missing: sh $0 apply $3" ;;
        esac
    fi
    plan_say "$1. $5"
    plan_preconditions "$1" || plan_stop 1 "$1. stopped: a precondition of this step changed after planning"
    [ "$2" = look ] || made=" $1$made"
    plan_make "$1" || plan_stop 1 "$1. stopped: a command of this step failed"
    plan_patiently "$4" "$1" || plan_stop 1 "$1. stopped: the verification of this step failed"
}

plan_main() {
    missing=
    for name in $needed; do
        command -v "$name" >/dev/null 2>&1 || missing="$missing $name"
    done
    [ -z "$missing" ] || plan_stop 3 "not installed here:$missing"
    case ${1-apply} in
    apply)
        [ $# -eq 0 ] || shift
        consents="$*"
        plan_apply
        [ -z "$made" ] || plan_say "done; to undo: sh $0 undo$made"
        ;;
    undo)
        shift
        failed=0
        for number; do
            plan_undo "$number" || {
                plan_say "step $number could not be undone" >&2
                failed=1
            }
        done
        exit "$failed"
        ;;
    *)
        plan_say "usage: sh $0 [apply [CONSENT...] | undo NUMBER...]" >&2
        exit 2
        ;;
    esac
}

