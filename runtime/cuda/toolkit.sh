#!/bin/sh
# Finds the CUDA toolkit that compiles device code for a build, and determines the architectures.
#
#     sh runtime/cuda/toolkit.sh [--root DIR] [--arch LIST] [--least NN] [--kind nvcc|nvrtc] [--build DIR]
#
# Prints one line with the compiler's kind, version and path, followed by the targets, such as
#     nvcc 13.0 /usr/local/cuda/bin/nvcc sm_80 sm_90 compute_80 compute_90
# Uses nvcc if it works, else NVRTC, the toolkit's compiler as a library, through a program that make builds.
# --root DIR    search only this folder of a toolkit; default: the folder in LONGHAND_CUDA_ROOT or, if that variable is
#               not set, the usual folders
# --arch LIST   sm_80,sm_90a,...; native: the GPUs of this machine; all: all that the compiler knows; default:
#               one architecture for each class of GPUs; here: native if this machine has GPUs, else default. The
#               targets also include the intermediate forms of the lowest and the highest architecture without suffix
#               (a, f), for other and for later GPUs.
# --least NN    least compute capability times 10 that the device code requires: 75 (default), 80
# --kind KIND   search only for this compiler
# --build DIR   build folder of the program that calls NVRTC: the Makefile's BUILD; default: build
# Exit status: 0, or 4 with the problem, the searched places and a remedy on standard error.

# One architecture of each class of GPUs.
CLASSES="75 80 86 89 90 100 120"

fail() {
    printf '%s\n' "$@" >&2
    exit 4
}

root='' list='' least=75 wanted_kind='' build=build
while [ $# -gt 1 ]; do
    case $1 in
        --root) root=$2 ;;
        --arch) list=$(printf %s "$2" | tr , ' ') ;;
        --least) least=${2:-75} ;;
        --kind) wanted_kind=$2 ;;
        --build) build=$2 ;;
        *) fail "toolkit.sh: unknown argument $1" ;;
    esac
    shift 2
done
cd -- "$(dirname -- "$0")/../.." || exit 4
root_note=''
[ -n "$root" ] || root_note=${LONGHAND_CUDA_ROOT:+" (LONGHAND_CUDA_ROOT)"}
root=${root:-${LONGHAND_CUDA_ROOT:-}}
program=$build/host/device_compiler
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT

# Prints the folders of toolkits, best first, one per line.
list_roots() {
    if [ -n "$root" ]; then
        echo "$root"
        return
    fi
    nvcc=$(command -v nvcc) && nvcc=$(readlink -f "$nvcc" 2>/dev/null) && dirname "$(dirname "$nvcc")"
    printf '%s\n' "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda /usr/lib/nvidia-cuda-toolkit | grep .
}

# Tests whether nvcc works (nvcc needs a C++ compiler); sets kind, compiler, version, and supported (numbers of
# architectures).
try_nvcc() {
    [ "$wanted_kind" != nvrtc ] && [ -x "$1" ] || return 1
    if ! : >"$work/empty.cu" || ! "$1" -cubin -o "$work/empty.cubin" "$work/empty.cu" >"$work/log" 2>&1; then
        failures="$failures
    $1 does not work: $(grep . "$work/log" | head -1)"
        return 1
    fi
    kind=nvcc compiler=$1
    version=$("$1" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    supported=$("$1" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -nu | tr '\n' ' ')
    [ -n "$version" ] && [ -n "$supported" ]
}

make_program() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory "$program" "LONGHAND_BUILD=$build" TARGETS=cpu \
        ID= RUN= ${CC:+"CC=$CC"}
}

try_nvrtc() {
    [ "$wanted_kind" != nvcc ] && [ -e "$1" ] || return 1
    if ! make_program >"$work/log" 2>&1 || ! "$program" "$1" >"$work/abilities" 2>"$work/log"; then
        failures="$failures
    $1 does not work: $(grep . "$work/log" | head -1)"
        return 1
    fi
    kind=nvrtc compiler=$1
    read -r version supported <"$work/abilities"
}

# Prints possible paths of NVRTC's library: in the toolkits' folders, then in the loader's paths.
list_libraries() {
    echo "$toolkits" | while read -r folder; do
        for name in libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so; do
            for place in lib64 lib "targets/$(uname -m)-linux/lib"; do echo "$folder/$place/$name"; done
        done
    done
    [ -n "$root" ] || /sbin/ldconfig -p 2>/dev/null | sed -n 's/.* => \(.*\/libnvrtc\.so[.0-9]*\)$/\1/p'
}

find_compiler() {
    case $root in *[[:space:]]*) fail "$root: make cannot handle blanks in a folder's name" ;; esac
    toolkits=$(list_roots | awk '!seen[$0]++') failures=''
    while read -r folder; do
        try_nvcc "$folder/bin/nvcc" && return
    done <<END
$toolkits
END
    while read -r library; do
        try_nvrtc "$library" && return
    done <<END
$(list_libraries)
END
    fail "no CUDA toolkit found; looked for bin/nvcc, and for lib64/libnvrtc.so or lib/libnvrtc.so, in:" \
        "$(echo "$toolkits" | sed "s/^/    /; s/\$/$root_note/")$failures" \
        "  hint: --cuda-root DIR (make: CUDA_ROOT=DIR) names the toolkit's folder" \
        "  hint: --jit (make: JIT=1) builds without a toolkit: the trainer compiles where it runs, with NVRTC there" \
        "  hint: a toolkit can be installed without a GPU: https://developer.nvidia.com/cuda-downloads"
}

# Tests whether the compiler supports an architecture that is not in its list, such as sm_90a and sm_100f.
compiles_for() {
    case $kind in
        nvcc) "$compiler" --dryrun -cubin "-arch=$1" -o "$work/empty.cubin" "$work/empty.cu" >/dev/null 2>&1 ;;
        nvrtc) "$program" "$compiler" "$1" >/dev/null 2>&1 ;;
    esac
}

list_native() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
        sed -n 's/^ *\([0-9]*\)\.\([0-9]\).*/sm_\1\2/p' | sort -u
}

list_defaults() {
    for class in $CLASSES; do
        case " $supported " in *" $class "*) [ "$class" -lt "$least" ] || echo "sm_$class" ;; esac
    done
}

# Prints the script's line for the architectures in $architectures, or fails at the first unsuitable architecture.
print_targets() {
    lowest=0 highest=0
    for architecture in $architectures; do
        number=$(echo "$architecture" | sed -n 's/^sm_\([0-9]*\)[af]\{0,1\}$/\1/p')
        case $number in
            '') fail "--arch $architecture: expected sm_ and a number, as in --arch sm_80,sm_90" ;;
        esac
        [ "$number" -ge "$least" ] || fail "--arch $architecture: this device code needs sm_$least or later"
        case " $supported " in
            *" ${architecture#sm_} "*)
                [ "$number" -le "$highest" ] || highest=$number
                [ "$lowest" != 0 ] && [ "$lowest" -le "$number" ] || lowest=$number
                ;;
            *) compiles_for "$architecture" ||
                fail "--arch $architecture: $kind $version ($compiler) does not know this architecture" \
                    "  expected: $(echo "$supported" | sed 's/[0-9][0-9]*/sm_&/g')" ;;
        esac
    done
    echo "$kind $version $compiler" $(echo "$architectures" | tr ' ' '\n' | awk '!seen[$0]++') \
        $([ "$highest" = 0 ] || printf 'compute_%s\n' "$lowest" "$highest" | uniq)
}

find_compiler
case ${list:-default} in
    native)
        list=$(list_native)
        [ -n "$list" ] || fail "--arch native: nvidia-smi shows no GPU on this machine"
        ;;
    here)
        list=$(list_native)
        list=${list:-$(list_defaults)}
        ;;
    all) list=$(for number in $supported; do [ "$number" -lt "$least" ] || echo "sm_$number"; done) ;;
    default) list=$(list_defaults) ;;
esac
architectures=$(echo $list)
[ -n "$architectures" ] ||
    fail "$kind $version ($compiler) knows no architecture from sm_$least on; it knows: $supported"
print_targets
