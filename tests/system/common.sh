# Helpers of all system tests; sourced from the repository's root. `work` is a test's own folder, removed at the end.

set -u
root=$(pwd -P)
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0
LONGHAND_CACHE=$root/build/tests/cache # tests ignore the user's tuned choices
export LONGHAND_CACHE
PYTHON=${LONGHAND_PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1

# Runs one named check: the command must succeed. Its output is printed if it fails.
expect() {
    name=$1
    shift
    if ("$@") >"$work/.output" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name (status $?)"
        cat "$work/.output"
        failures=$((failures + 1))
    fi
}

has_python() { "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; }

# Runs a check that needs Python 3.9; without it the check is skipped by name.
expect_python() {
    if has_python; then expect "$@"; else echo "skip $1: no Python 3.9 or later"; fi
}

# Runs a command that must end with a status and print a text: status, text, command.
ends_with() {
    expected=$1 text=$2
    shift 2
    "$@" >"$work/.out" 2>&1
    actual=$?
    if [ "$actual" -ne "$expected" ] || ! grep -qF -e "$text" "$work/.out"; then
        echo "expected status $expected and: $text"
        echo "got status $actual and:"
        cat "$work/.out"
        return 1
    fi
}

# Polls until the command succeeds: tests wait for states, not times, so they also pass on slow machines. After ten
# minutes the test counts as hanging.
until_true() {
    for _ in $(seq 6000); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}

# Halts processes. A process may first handle a signal that it received before all its threads were halted.
halt() { [ $# -gt 0 ] && kill -STOP "$@" && until_true are_halted "$@"; }
are_halted() {
    for halted in "$@"; do
        grep -q '^State:[[:space:]]*T' "/proc/$halted/status" || return
    done
}

# Whether SIGTERM is pending (bit 14) for each of these processes, which are halted.
got_signal() {
    for told in "$@"; do
        case $(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$told/status") in *[4567cdef]???) ;; *) return 1 ;; esac
    done
    [ $# -gt 0 ]
}

finish() {
    [ "$failures" -eq 0 ]
    exit
}
