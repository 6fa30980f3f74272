#!/bin/sh
# make cuda-check, cuda-all and cuda-record: check that device code compiles, and its resources. Needs a CUDA toolkit,
# no GPU.
#
#     sh tests/cuda/check.sh [--few | --all [ARCHITECTURES] | --record]
#
# Compiles the device code of the showcase, and of one of its runs with products divided among warps, for one
# architecture of each class; with --few that of $WIDEST, which needs the most registers, and for sm_90 alone that of
# $FEW, and counts instructions in two precisions at one length; with --all for every architecture of the toolkit, or
# for those of a list (sm_80,sm_90), together with the device code of the test specs and of every encoding in
# spec/encodings, which it generates. Attention must not spill a register for any architecture. The assembler's report
# on each kernel (registers, stack, spills, shared memory) is compared with resources.txt, the largest values of any
# architecture of a class. A toolkit of another version than the recorded one gives other numbers, which are not
# compared. The runtime's declarations of the driver, NVRTC and cuBLASLt are compared with the toolkit's headers
# (driver.c, nvrtc.c, cublaslt.c). The instructions of a step of the showcase are counted from PTX and compared with
# counts.txt (tests/ptx/counts.sh). Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# --record writes resources.txt from the reports of nvcc and NVRTC, which differ a little, for every architecture, and
# counts.txt from NVRTC's PTX.
TABLE=tests/cuda/resources.txt
WIDEST=reverse_string_rand_relative
WARPS=bucket_sort_sinusoid_warps # bucket_sort_sinusoid in tf32 with products divided among warps
FEW="bucket_sort_alibi_learned $WARPS"

cd -- "$(dirname -- "$0")/../.." || exit 4
mode=${1:-check} architectures=${2:-all}
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failed=0
say() {
    echo "$*"
    case $1 in not) failed=1 ;; esac
}

showcase=$(ls generated/*/device.cu 2>/dev/null | sed 's|generated/\(.*\)/device.cu|\1|') specs='' texts=build/cuda/specs

# generate NAME SPEC: writes the device code of a spec; a test spec in float64 is compiled in float32, or in tf32 if its
# products are divided among warps.
generate() {
    specs="$specs $1"
    ./longhand gen "$2" --target cpu,cuda --out "$texts/$1" >/dev/null || exit
    precision=$(grep -q '^  device_products = "warps"' "$2" && echo tf32 || echo float32)
    ! grep -q '^typedef double real' "$texts/$1/device.cu" ||
        ./longhand gen "$2" --target cpu,cuda --set precision=$precision --out "$texts/$1" >/dev/null || exit
}

if [ "$mode" = --all ]; then
    rm -rf "$texts" && mkdir -p "$texts" || exit 4
    for spec in tests/specs/*.lua; do # some of these have no device code
        case $spec in
            *_rnn.lua | *_lstm.lua | *_layers*.lua) ;;
            *) generate "$(basename "$spec" .lua)" "$spec" ;;
        esac
    done
    for preset in spec/encodings/*.lua; do
        name=$(basename "$preset" .lua)
        case $name in *_cycle) continue ;; esac
        {
            echo "return { encoding = { use = \"$name\" },"
            case $name in
                abc_*)
                    echo 'task = { kind = "bucket_sort" }, model = { kind = "encoder_decoder" },'
                    echo 'train = { use = "ruoss" }, eval = { use = "ruoss" } }'
                    ;;
                lst_*)
                    echo 'task = { kind = "latin_square" }, model = { use = "lst_encoder" }, train = { use = "lst" },'
                    echo 'eval = { splits = { "test" } } }'
                    ;;
                *)
                    echo 'task = { kind = "reverse_string" }, model = { use = "ruoss_encoder" },'
                    echo 'train = { use = "ruoss" }, eval = { use = "ruoss" } }'
                    ;;
            esac
        } >"$texts/library_$name.lua"
        generate "library_$name" "$texts/library_$name.lua"
    done
fi

showcase="$showcase
$WARPS"
[ "$mode" != --few ] || showcase="$WIDEST $FEW"
./longhand gen spec/runs/bucket_sort_sinusoid.lua --target cpu,cuda --set precision=tf32 \
    --set device_products=warps --out "$texts/$WARPS" >/dev/null || exit

find_device_text() { ls "generated/$1/device.cu" "$texts/$1/device.cu" 2>/dev/null | head -1; }

# Prints the least architecture, such as 75, that a run's device code supports.
read_least() { sed -n 's/.*\.least_architecture = \([0-9]*\).*/\1/p' "$(dirname "$(find_device_text "$1")")/cuda.c"; }

# Prints the architectures to compile a run for, out of those in $known.
print_architectures() {
    least=$(read_least "$1")
    for architecture in $known; do
        [ "$mode" != --few ] || [ "$architecture" = sm_90 ] || [ "$1" = $WIDEST ] || continue
        [ "${architecture#sm_}" -lt "$least" ] || echo "$architecture"
    done
}

. tests/ptx/counts.sh

# Compiles every run with the toolkit in $toolkit, prints a line for each, and appends rows to $work/rows: run kernel
# architecture registers stack spill_stores spill_loads shared
compile_all() {
    kind=${toolkit%% *}
    folder=build/cuda/$(echo "$toolkit" | cut -d ' ' -f 1,2 | tr ' ' -)
    goals=''
    for run in $showcase $specs; do
        for architecture in $(print_architectures "$run"); do goals="$goals $folder/$run.$architecture"; done
    done
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -k -j"$jobs" $goals TOOLKIT="$toolkit" >"$work/log" 2>&1
    for goal in $goals; do
        name=$(basename "$goal")
        if [ ! -f "$goal" ]; then
            say not ok "device code of ${name%.*} for ${name##*.} compiles: $kind says"
            cat "$goal.log"
        else
            say ok "device code of ${name%.*} for ${name##*.} compiles"
            print_rows "${name%.*}" "${name##*.}" <"$goal.log" >>"$work/rows"
            spilling=$(print_attention_spills <"$goal.log")
            [ -z "$spilling" ] || say not ok "attention of ${name%.*} for ${name##*.} spills no register: $spilling"
        fi
    done
}

# Prints the rows of a log of the assembler.
print_rows() { awk -v run="$1" -v architecture="$2" -f tests/cuda/rows.awk; }

# Prints functions of attention that spill, with their bytes. Their names begin with the name of a family; they are
# compiled apart from the kernels that call them.
print_attention_spills() {
    awk '
        /Function properties for/ { name = $NF }
        /bytes stack frame/ && name ~ /^_Z.*[0-9]([a-z0-9_]*_)?attend/ && !/ 0 bytes spill stores, 0 bytes spill loads/ {
            match(name, /([a-z_]*_)?attend[a-z_]*/)
            name = substr(name, RSTART, RLENGTH)
            match($0, /[0-9]+ bytes spill stores.*/)
            print name ": " substr($0, RSTART)
        }' | tr '\n' ';'
}

# Prints the largest value of each column over the architectures of a class: 75, 80 to 89, 90 and up.
print_maxima_by_class() {
    awk '{
        number = substr($3, 4) + 0
        key = $1 " " $2 " " (number < 80 ? 75 : number < 90 ? 80 : 90)
        for (i = 4; i <= 8; i++) if (!(key in seen) || $i > most[key, i]) most[key, i] = $i
        seen[key] = 1
    } END {
        for (key in seen) print key, most[key, 4], most[key, 5], most[key, 6], most[key, 7], most[key, 8]
    }' "$work/rows" | LC_ALL=C sort
}

# Writes resources.txt for a version of the toolkit ($1).
record() {
    {
        echo "# What each kernel of the compiled runs may need; stack and spills: bytes of a thread. Written by make cuda-record."
        echo "# run kernel class registers stack spill_stores spill_loads shared"
        echo "toolkit $1"
        print_maxima_by_class
    } >$TABLE.partial && mv $TABLE.partial $TABLE && echo "written: $TABLE"
}

# Compares the rows with resources.txt, if that was recorded with the same version of the toolkit ($1).
compare() {
    [ -f $TABLE ] || { say not ok "there is no $TABLE (make cuda-record)" && return; }
    recorded=$(sed -n 's/^toolkit //p' $TABLE)
    if [ "$recorded" != "$1" ]; then
        for run in $showcase; do
            say skip "kernels of $run fit as recorded: with toolkit $recorded; this is $1"
        done
        return
    fi
    print_maxima_by_class | awk -v table=$TABLE -v runs="$showcase" '
        BEGIN {
            split("registers,bytes of stack,bytes of spill stores,bytes of spill loads,bytes shared", name, /,/)
            for (n = split(runs, run, "[ \n]"); n > 0; n--) asked[run[n]] = 1
            while ((getline line < table) > 0) if (line !~ /^#|^toolkit/) {
                split(line, part, " ")
                bound[part[1] " " part[2] " " part[3]] = line
            }
        }
        !($1 in asked) { next }
        {
            key = $1 " " $2 " " $3
            title = "kernel " $2 " of " $1 " fits on sm_" $3 " and its like"
            if (!(key in bound)) { print "not ok " title ": no row in " table " (make cuda-record)"; next }
            why = ""
            split(bound[key], most, " ")
            for (i = 4; i <= 8; i++)
                if ($i > most[i] + 0) why = why (why ? ", " : "") $i " " name[i - 3] ", recorded " most[i]
            print (why ? "not ok " title ": " why " (if intended: make cuda-record)" : "ok " title)
        }' >"$work/compared"
    cat "$work/compared"
    ! grep -q '^not ok' "$work/compared" || failed=1
    [ "$mode" != --few ] || return 0
    for run in $(sed -n 's/^\([a-z][a-z0-9_]*\) [a-z]* [0-9].*/\1/p' $TABLE | sort -u); do
        echo "$showcase" | grep -qx "$run" || say not ok "$TABLE: $run is not compiled (make cuda-record)"
    done
}

# Finds the toolkit of a kind ($2; "": any) for a list of architectures ($1). Sets $toolkit (kind, version, compiler)
# and $known (the architectures).
find_toolkit() {
    words=$(sh runtime/cuda/toolkit.sh --arch "$1" --kind "$2" 2>"$work/problem") || return 1
    toolkit=$(echo "$words" | cut -d ' ' -f 1-3)
    known=$(echo "$words" | tr ' ' '\n' | grep '^sm_')
}

# Compiles a text of this folder with the headers of the toolkit.
compile_with_headers() {
    ${CC:-cc} -std=gnu11 -Werror -Wcast-function-type -Iinclude -Iruntime -I. -isystem "$headers" "$@"
}

compare_names() {
    compile_with_headers -o "$work/names" tests/cuda/driver.c runtime/base/status.c -ldl -pthread && "$work/names"
}

# check_declarations LIBRARY HEADER COMMAND...: compares the runtime's declarations of a library with its header.
check_declarations() {
    title="declarations of $1 are those of its headers"
    headers=$(dirname "$(dirname "$(echo "$toolkit" | cut -d ' ' -f 3)")")/include
    header=$2
    shift 2
    if [ ! -f "$headers/$header" ]; then
        say skip "$title: there is no $headers/$header"
    elif "$@" >"$work/problem" 2>&1; then
        say ok "$title"
    else
        say not ok "$title"
        cat "$work/problem"
    fi
}

: >"$work/rows"
case $mode in
    check | --few) find_toolkit all nvrtc || find_toolkit all nvcc ;;
    --all) find_toolkit "$architectures" '' ;;
    --record) find_toolkit all nvrtc && find_toolkit all nvcc ;;
    *) echo "usage: check.sh [--few | --all [ARCHITECTURES] | --record]" >&2 && exit 2 ;;
esac || {
    [ "$mode.$architectures" != --record.all ] && [ $architectures = all ] || { cat "$work/problem" >&2 && exit 4; }
    for run in $showcase; do
        say skip "device code of $run compiles: $(head -1 "$work/problem" | sed 's/[;:].*//')"
    done
    exit 0
}
version=$(echo "$toolkit" | cut -d ' ' -f 2)
case $mode in
    check | --few) known=$(for class in 75 80 90; do echo "$known" | grep -x "sm_$class"; done) ;;
esac
compile_all
case $mode in
    --record)
        find_toolkit all nvrtc && compile_all
        [ $failed -ne 0 ] || record "$version"
        record_counts
        ;;
    *)
        compare "$version"
        check_declarations 'the driver' cuda.h compare_names
        check_declarations NVRTC nvrtc.h compile_with_headers -fsyntax-only tests/cuda/nvrtc.c
        check_declarations cuBLASLt cublasLt.h compile_with_headers -fsyntax-only tests/cuda/cublaslt.c
        check_counts
        ;;
esac
exit $failed
