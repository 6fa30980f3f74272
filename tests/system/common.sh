# Helpers of all system tests; sourced from the repository's root. Sets `root`, that folder's path, and `work`, a new
# folder of the test, which is removed at the end. Checks print "ok NAME", "not ok NAME" or "skip NAME: reason";
# `failures` counts those that failed, and `finish` ends a test.

set -u
root=$(pwd -P)
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0
LONGHAND_CACHE=$root/build/tests/cache # not the user's folder, which may have tuned choices
export LONGHAND_CACHE
PYTHON=${LONGHAND_PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1

# Runs one named check in a shell of its own: the command must succeed. Its output is printed if it fails.
# Arguments: name, command.
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

# Runs functions as checks, whose names are the prefix and the function's name: PREFIX FUNCTION...
expect_each() {
    prefix=$1
    shift
    for check; do expect "$prefix$check" "$check"; done
}

has_python() { "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; }

# Runs a check that needs Python 3.9, or skips it: NAME COMMAND.
expect_python() {
    if has_python; then expect "$@"; else echo "skip $1: no Python 3.9 or later"; fi
}

# Runs a check that needs PyTorch, or skips it: NAME COMMAND.
expect_torch() {
    if "$PYTHON" -c 'import torch' 2>/dev/null; then
        expect "$@"
    else
        echo "skip $1: $PYTHON has no torch (LONGHAND_PYTHON names another Python)"
    fi
}

# Runs a command that must end with a status and print a text: STATUS TEXT COMMAND. Its output is in $work/.out.
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

# Runs a command ten times a second until it succeeds; fails after about ten minutes. Tests wait for states, not
# times, so they also pass on slow machines.
until_true() {
    for _ in $(seq 6000); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}

# Halts processes, and waits until they are halted: PROCESS... Before that, a process may still handle a signal.
halt() { [ $# -gt 0 ] && kill -STOP "$@" && until_true are_halted "$@"; }
are_halted() {
    for halted in "$@"; do
        grep -q '^State:[[:space:]]*T' "/proc/$halted/status" || return
    done
}

# Whether SIGTERM is pending for each of these halted processes, one or more: PROCESS... SIGTERM has the number 15, so
# it is bit 14 of the mask in ShdPnd, a hexadecimal number.
got_signal() {
    for process in "$@"; do
        case $(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$process/status") in *[4567cdef]???) ;; *) return 1 ;; esac
    done
    [ $# -gt 0 ]
}

# Enters a copy of the repository in $work, with a build folder of its own: other tests that run at the same time change
# the specs in build/tests.
enter_copy() {
    cd "$work" && mkdir -p build/tests/specs || return
    for name in Makefile cuda.mk longhand generator include kernels runtime templates spec tests examples generated \
        VERSION; do
        cp -R "$root/$name" "$name" || return
    done
}

# Mounts a new file system at $work/disk, which is made: SIZE. Fails without the right to mount.
mount_disk() { mkdir -p "$work/disk" && mount -t tmpfs -o size="$1" none "$work/disk" 2>/dev/null; }

# Prints the folder of the only run of a seed below a folder of $work: FOLDER [SEED].
find_run() { echo "$work/$1"/*/*/lr*-seed"${2:-0}"*; }

# Prints the process numbers of trainers of sweeps that were started by a path in $work, or fails if there are none. The
# status of the first grep is ignored: it fails if a process ends meanwhile.
find_trainers() {
    files=$(grep -lzxs "$work/[a-z]*" /proc/[0-9]*/cmdline)
    [ -n "$files" ] && grep -lzxs -e --missing $files | cut -d / -f 3 | grep .
}

# Prints lines of metrics without rates and durations, which differ between equal runs: FILE...
drop_times() { sed 's/,"steps_per_second":[^,]*,"seconds":[^,}]*//' "$@"; }

# Whether two runs have equal checkpoints and equal lines, times aside: FOLDER FOLDER FILE... (files of lines).
have_equal_results() (
    one=$1 other=$2
    shift 2
    print_results "$one" "$@" >"$work/expected" && print_results "$other" "$@" >"$work/actual" &&
        cmp "$work/expected" "$work/actual"
)
print_results() (
    cd "$1" && shift && cksum <checkpoint.safetensors && drop_times "$@"
)

# Prints checksums of checkpoints and evaluations, and metrics without times, of all runs in a folder of $work: FOLDER.
sum_runs() {
    (cd "$work/$1" && find . -path ./.slurm -prune -o \( -name checkpoint.safetensors -o -name eval.jsonl \) -print |
        sort | xargs cksum)
    (cd "$work/$1" && find . -path ./.slurm -prune -o -name metrics.jsonl -print | sort | while read -r file; do
        drop_times "$file"
    done)
}

# Whether a figure exists as SVG, PDF and PNG: its path without an ending.
are_pictures() {
    grep -q '</svg>' "$1.svg" && grep -aq '^%PDF' "$1.pdf" && [ "$(head -c 4 "$1.png" | tail -c 3)" = PNG ]
}

# Ends a test: the exit status is 1 if a check failed.
finish() {
    [ "$failures" -eq 0 ]
    exit
}
