# Names of specs do not collide in the linker: ids that equal names of the runtime, of libc, of macros, or of one
# another with a prefix or suffix, are linked into one program. Symbols of generated objects are checked, too.

. tests/system/common.sh

CC=${CC:-cc}
NM=$($CC -print-prog-name=nm)
IDS="sincos exp rng_word task_bucket_sort main linux cuda_images ab ab_ ab__ ab_cuda x8664v3_ab"
STEPS="ab ab_cuda" # specs whose steps are linked as well
level=$(make -s print-levels | cut -d ' ' -f 1)
have=-DLH_HAVE_$(echo "$level" | tr a-z- A-Z_)
case $level in x86*) march=-march=$level ;; *) march='' ;; esac
includes="-Iinclude -I."

write_one() {
    echo 'return { task = { kind = "bucket_sort" }, model = { layers = 1, heads = 1, width = 16, feedforward = 16 } }' \
        >"$work/$1.lua"
    ./longhand gen "$work/$1.lua" --out "$work/$1"
}

# Prints a spec's symbol in C.
symbol() { echo "longhand_spec_$1" | sed 's/__/_U/g'; }

compile() {
    make -s library || return
    mkdir "$work/objects"
    for id in $IDS; do
        write_one "$id" || return
        case " $STEPS " in *" $id "*) levels=$have ;; *) levels='' ;; esac
        $CC -std=gnu11 -O0 $includes -DLH_HAVE_CUDA $levels -c -o "$work/objects/$id.spec.o" "$work/$id/spec.c" &&
            $CC -std=gnu11 -O0 $includes -c -o "$work/objects/$id.cuda.o" "$work/$id/cuda.c" || return
    done
    for id in $STEPS; do
        $CC -std=gnu11 -O0 -Wno-psabi $march $includes -c -o "$work/objects/$id.step.o" "$work/$id/step.c" || return
    done
}

# Links the specs of all names with the whole runtime.
link_together() {
    {
        echo '#include <stdio.h>'
        echo '#include "longhand/spec.h"'
        for id in $IDS; do echo "extern const lh_spec $(symbol "$id");"; done
        echo 'int main(void) {'
        for id in $IDS; do echo "    puts($(symbol "$id").id);"; done
        echo '}'
    } >"$work/all.c"
    $CC $includes -o "$work/all" "$work/all.c" "$work"/objects/*.o -Wl,--whole-archive build/lib/liblonghand.a \
        -Wl,--no-whole-archive -ljansson -fopenmp -pthread -ldl -lm || return
    printf '%s\n' $IDS >"$work/expected" && "$work/all" >"$work/output" && cmp "$work/expected" "$work/output"
}

# Builds a whole trainer with its device code, by the Makefile.
build_by_make() {
    write_one main__x && make -s trainer ID=main__x SOURCES="$work/main__x" OUT="$work/trainer" LEVELS="$level" \
        TARGETS=cpu,cuda JIT=1 STEP_CFLAGS="-std=gnu11 -O0 -Wno-psabi $includes" &&
        ends_with 0 '"id":"main__x"' env -u LONGHAND_ISA "$work/trainer/trainer" info --json
}

externals() { $NM -g --defined-only "$@" | awk 'NF == 3 { print $3 }'; }

# Every symbol is longhand_<role>_<id>, apart from the compiler's own.
in_their_name_space() {
    rm -f "$work/trainer/obj/main.o"
    externals "$work"/objects/*.o "$work"/trainer/obj/*.o >"$work/names" || return
    [ "$(grep -cx 'longhand_[a-z0-9]*_main_Ux' "$work/names")" -eq 4 ] || return
    for id in $IDS; do grep -qx "$(symbol "$id")" "$work/names" || return; done
    ! grep -vE '^longhand_[a-z0-9]+_[a-z][a-zA-Z0-9_]*$' "$work/names" && ! grep __ "$work/names"
}

# Symbols of the runtime begin with lh_, those of samplers with lh_task_.
runtime_stays_out() {
    externals build/lib/liblonghand.a >"$work/names" || return
    ls runtime/data/tasks | sed -n 's/\(.*\)\.c$/lh_task_\1/p' | sort >"$work/expected"
    grep '^lh_task_' "$work/names" | sort | cmp "$work/expected" - && ! grep -v '^lh_' "$work/names"
}

expect names_compile compile
if [ "$failures" -eq 0 ]; then
    expect names_link_together link_together
    expect names_by_make build_by_make
    expect names_in_their_name_space in_their_name_space
fi
expect names_of_the_runtime runtime_stays_out
finish
