# Compares the counts of a step's PTX with tests/cuda/counts.txt; sourced by tests/cuda/check.sh, which provides say,
# work, jobs, failed and toolkit. Counts are of warps' instructions by kind (tests/ptx/instructions.lua), and of sectors
# of 32 bytes that are transferred between a block and global memory. One part is the forward and backward pass of a
# block's shard, with one sequence (a step of one model, whose 128 blocks have a shard each) or with eight (a replica,
# whose one block has 16 such shards). The other part is the end of a step of one model (128 shards) and of a replica
# (16), counted for all blocks of a team together.
COUNTS=tests/cuda/counts.txt
COUNTED=bucket_sort_sinusoid
COUNTED_PRECISIONS='float32 tf32 tf32_warps float32_warps' # the last two cut products by warp
COUNT_TOLERANCE=2 # percent, of kinds that are at least 0.1% of all

counted_toolkit() { echo "$toolkit" | cut -d ' ' -f 1,2; }

# Numbers of tokens and of labels of parity_check at lengths 20 and 40, and of reverse_string at 40.
COUNTED_LENGTHS='21 1
41 1
80 40'
[ "$mode" != --few ] || COUNTED_LENGTHS='21 1' COUNTED_PRECISIONS='float32 tf32_warps' # the table's first column

build_counts() {
    goals='' programs=build/ptx/$(counted_toolkit | tr ' ' -)
    mkdir -p build/ptx/specs
    for precision in $COUNTED_PRECISIONS; do
        id=count_$precision
        cp "spec/runs/$COUNTED.lua" "build/ptx/specs/$id.lua"
        kernel=$([ "$precision" = "${precision%_warps}" ] && echo tiles || echo warps)
        ./longhand gen "build/ptx/specs/$id.lua" --target cpu,cuda --set "precision=${precision%_warps}" \
            --set "device_products=$kernel" --out "build/ptx/specs/$id" >/dev/null || return 1
        goals="$goals $programs/$id.program build/release/tests/ptx/count.$id"
    done
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j"$jobs" LEVELS=best VARIANT=release TOOLKIT="$toolkit" $goals
}

# count ID SEQUENCES SHARDS T LABELS: prints the counts of a step. With products divided among warps, in tf32, the team also has
# a barrier before its shards, after it has rounded the weights.
count() {
    LONGHAND_PTX="$programs/$1.program" "build/release/tests/ptx/count.$1" "$2" "$3" "$4" "$5" \
        "$(case $1 in *tf32_warps) echo 2 ;; *) echo 1 ;; esac)"
}

# count_ends PRECISION T_NAME T LABELS: prints lines "PRECISION part T_NAME kind number"; T_NAME is "-" if the counts do
# not depend on T. The end of a step depends neither on T nor on the kind of products, except that with products cut by
# warp the team sums gradients of weights over all tokens there.
count_ends() {
    for shards in 16 128; do
        count "count_$1" 128 "$shards" "$3" "$4" | awk -v k="$1 end_of_$shards $2" '$1 == "end" { print k, $2, $3 }'
    done
}

# count_precision PRECISION: prints lines "PRECISION part T kind number".
count_precision() {
    id=count_$1
    echo "$COUNTED_LENGTHS" | while read -r T labels; do
        count "$id" 1 1 "$T" "$labels" | awk -v k="$1 shard_of_1 $T" '$1 == "shard" { print k, $2, $3 }'
        count "$id" 8 1 "$T" "$labels" | awk -v k="$1 shard_of_8 $T" '$1 == "shard" { print k, $2, $3 }'
    done
    case $1 in
        float32) count_ends "$1" - 1 1 ;;
        *_warps) echo "$COUNTED_LENGTHS" | while read -r T labels; do count_ends "$1" "$T" "$T" "$labels"; done ;;
    esac
}

count_all() {
    for precision in $COUNTED_PRECISIONS; do count_precision "$precision" >"$work/counts.$precision" & done
    wait
    for precision in $COUNTED_PRECISIONS; do cat "$work/counts.$precision"; done | awk '
        { print }
        $4 !~ /^sectors/ { all[$1 " " $2 " " $3] += $5 }
        END { for (key in all) print key, "all", all[key] }' | LC_ALL=C sort
}

# Prints the lines as a table: a row for each precision, part and kind, a column for each T.
write_counts() {
    echo "# Instructions that warps issue, and sectors of 32 bytes that leave or enter a block, of $COUNTED;"
    echo "# columns: T = 21, 41, 80. tests/ptx/counts.sh says what is counted; written by make cuda-record."
    echo "toolkit $(counted_toolkit)"
    awk '
        { row = sprintf("%-10s %-10s %-14s", $1, $2, $4) }
        row != last && last { print line }
        row != last { line = row; last = row }
        { line = line sprintf(" %10d", $5) }
        END { print line }' "$1"
}

sort_counts() { LC_ALL=C sort -k1,1 -k2,2 -k4,4 -k3,3n "$1"; }

# Compares a table with the recorded one; prints "ok NAME", "not ok NAME: why" or "fewer NAME: ..." for each part.
compare_counts() {
    awk -v tolerance=$COUNT_TOLERANCE -v table=$COUNTS '
        function key_of(line, part) { split(line, part, " "); return part[1] " " part[2] " " part[3] }
        FNR == NR { if (!/^#|^toolkit/) old[key_of($0)] = $0; next }
        /^#|^toolkit/ { next }
        $3 == "all" { for (i = 4; i <= NF; i++) all[$1 " " $2, i] = $i }
        { rows[++count] = $0 }
        END {
            for (r = 1; r <= count; r++) {
                columns = split(rows[r], new, " ")
                unit = new[1] " " new[2]
                key = unit " " new[3]
                units[unit] = 1
                for (i = 4; i <= columns; i++) {
                    split(old[key], was, " ")
                    change = new[i] - was[i]
                    size = change < 0 ? -change : change
                    if (size * 1000 < all[unit, i] || size * 100 <= tolerance * was[i]) continue
                    text = sprintf("%s %d, recorded %d", new[3], new[i], was[i])
                    if (change > 0) why[unit] = why[unit] (why[unit] ? "; " : "") text
                    else fewer[unit] = 1
                }
            }
            for (unit in units) {
                name = "instructions of " unit
                if (why[unit]) print "not ok " name ": " why[unit] " (if intended: make cuda-record)"
                else print "ok " name
                if (!why[unit] && fewer[unit]) print "fewer " name ": make cuda-record records them"
            }
        }' "$COUNTS" "$1"
}

# Writes the table to $work/table.
make_counts() {
    if ! build_counts >"$work/log" 2>&1; then
        say not ok "programs that count compile"
        cat "$work/log"
        return 1
    fi
    count_all >"$work/counts"
    sort_counts "$work/counts" >"$work/sorted"
    write_counts "$work/sorted" >"$work/table"
}

check_counts() {
    recorded=$(sed -n 's/^toolkit //p' $COUNTS 2>/dev/null)
    if ! printf '#include <functional>\nint main() { return 0; }\n' |
        ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
        say skip "instructions of a step: ${CXX:-g++} does not compile C++"
    elif [ "$recorded" != "$(counted_toolkit)" ]; then
        say skip "instructions of a step: recorded with ${recorded:-no toolkit}; this is $(counted_toolkit)"
    elif make_counts; then
        compare_counts "$work/table" >"$work/compared"
        LC_ALL=C sort "$work/compared"
        ! grep -q '^not ok' "$work/compared" || failed=1
        [ -s "$work/compared" ] || say not ok "instructions of a step: nothing was counted"
    fi
}

record_counts() {
    make_counts && cp "$work/table" $COUNTS && echo "written: $COUNTS"
}
