# Names of specs do not collide in the linker: specs whose names equal those of functions of the runtime or of libc, of
# macros, or of another spec with a prefix or suffix, are linked into one program. All symbols of generated objects
# begin with longhand_, those of the runtime with lh_.

. tests/system/common.sh

CC=${CC:-cc}
NM=$($CC -print-prog-name=nm)
IDS="sincos exp rng_word task_bucket_sort main linux cuda_images ab ab_ ab__ ab_cuda x8664v3_ab"
STEPS="ab ab_cuda" # specs whose steps are linked as well
level=$(make -s print-levels | cut -d ' ' -f 1)
have=-DLH_HAVE_$(echo "$level" | tr a-z- A-Z_)
case $level in x86*) march=-march=$level ;; *) march='' ;; esac
includes="-Iinclude -I."

# Writes a spec and its sources: NAME.
generate() {
    echo 'return { task = { kind = "bucket_sort" }, model = { layers = 1, heads = 1, width = 16, feedforward = 16 } }' \
        >"$work/$1.lua"
    ./longhand gen "$work/$1.lua" --out "$work/$1"
}

# Prints the symbol of a spec: NAME.
print_symbol() { echo "longhand_spec_$1" | sed 's/__/_U/g'; }

are_compiled() {
    make -s library || return
    mkdir "$work/objects"
    for id in $IDS; do
        generate "$id" || return
        case " $STEPS " in *" $id "*) levels=$have ;; *) levels='' ;; esac
        $CC -std=gnu11 -O0 $includes -DLH_HAVE_CUDA $levels -c -o "$work/objects/$id.spec.o" "$work/$id/spec.c" &&
            $CC -std=gnu11 -O0 $includes -c -o "$work/objects/$id.cuda.o" "$work/$id/cuda.c" || return
    done
    for id in $STEPS; do
        $CC -std=gnu11 -O0 -Wno-psabi $march $includes -c -o "$work/objects/$id.step.o" "$work/$id/step.c" || return
    done
}

# Links the specs of all names with the whole runtime.
are_linked_together() {
    {
        echo '#include <stdio.h>'
        echo '#include "longhand/spec.h"'
        for id in $IDS; do echo "extern const lh_spec $(print_symbol "$id");"; done
        echo 'int main(void) {'
        for id in $IDS; do echo "    puts($(print_symbol "$id").id);"; done
        echo '}'
    } >"$work/all.c"
    $CC $includes -o "$work/all" "$work/all.c" "$work"/objects/*.o -Wl,--whole-archive build/lib/liblonghand.a \
        -Wl,--no-whole-archive -ljansson -fopenmp -pthread -ldl -lm || return
    printf '%s\n' $IDS >"$work/expected" && "$work/all" >"$work/output" && cmp "$work/expected" "$work/output"
}

# Builds a whole trainer with its device code, by the Makefile.
are_built_by_make() {
    generate main__x && make -s trainer ID=main__x SOURCES="$work/main__x" OUT="$work/trainer" LEVELS="$level" \
        TARGETS=cpu,cuda JIT=1 STEP_CFLAGS="-std=gnu11 -O0 -Wno-psabi $includes" &&
        ends_with 0 '"id":"main__x"' env -u LONGHAND_ISA "$work/trainer/trainer" info --json
}

# Prints the external symbols that objects define: FILE...
print_externals() { $NM -g --defined-only "$@" | awk 'NF == 3 { print $3 }'; }

# Every symbol is longhand_<role>_<id>, apart from the compiler's own.
keep_to_their_name_space() {
    rm -f "$work/trainer/obj/main.o"
    print_externals "$work"/objects/*.o "$work"/trainer/obj/*.o >"$work/names" || return
    [ "$(grep -cx 'longhand_[a-z0-9]*_main_Ux' "$work/names")" -eq 4 ] || return
    for id in $IDS; do grep -qx "$(print_symbol "$id")" "$work/names" || return; done
    ! grep -vE '^longhand_[a-z0-9]+_[a-z][a-zA-Z0-9_]*$' "$work/names" && ! grep __ "$work/names"
}

# Symbols of the runtime begin with lh_, those of samplers with lh_task_.
of_the_runtime_keep_to_theirs() {
    print_externals build/lib/liblonghand.a >"$work/names" || return
    ls runtime/data/tasks | sed -n 's/\(.*\)\.c$/lh_task_\1/p' | sort >"$work/expected"
    grep '^lh_task_' "$work/names" | sort | cmp "$work/expected" - && ! grep -v '^lh_' "$work/names"
}

expect_each names_ are_compiled
[ "$failures" -ne 0 ] || expect_each names_ are_linked_together are_built_by_make keep_to_their_name_space
expect_each names_ of_the_runtime_keep_to_theirs
finish
