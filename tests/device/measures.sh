# The parts rates, peaks, profile, sanitize and peers of tests/device/run.sh, which sources this file.

# --- rates, peaks, profile ----------------------------------------------------------------------------------------

# bench_one NAME ENCODING PRECISION LENGTHS REPLICAS: appends lines to rates.jsonl, also the lines before a failure.
bench_one() {
    models=$([ "$5" -eq 1 ] || echo "--replicas $5")
    # shellcheck disable=SC2086
    timeout "$(at_most 60)" "$(get_trainer "$1")" bench --device cuda --json --seconds 0.3 --lengths "$4" $models \
        >"$work/bench"
    status=$?
    sed "s/^{/{\"name\":\"$1\",\"encoding\":\"$2\",\"precision\":\"$3\",/; s/\"replicas\":0/\"replicas\":1/" \
        "$work/bench" >>"$work/parts/rates.jsonl"
    grep '"mode":"train"' "$work/bench" |
        sed 's/.*"tokens":\([0-9]*\).*"steps_per_second":\([0-9]*\).*/T=\1: \2 steps\/s/' | tr '\n' ' '
    return $status
}

# Records clocks and power while another command runs: begin_watch, then end_watch PART.
begin_watch() {
    nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader,nounits -lms 250 >"$work/watched" 2>/dev/null &
    watcher=$!
    trap 'kill $watcher 2>/dev/null' EXIT
}
end_watch() {
    kill $watcher 2>/dev/null
    wait $watcher 2>/dev/null
    trap - EXIT
    grep '^[0-9]*, [0-9]' "$work/watched" | sort -n | awk -F ', ' -v part="$1" '
        { clock[NR] = $1; watts += $2 }
        END {
            if (!NR) exit
            printf "{\"part\":\"%s\",\"sm_mhz\":%d,", part, clock[int((NR + 1) / 2)]
            printf "\"lowest\":%d,\"highest\":%d,\"watts\":%d}\n", clock[1], clock[NR], watts / NR
        }' >>"$work/parts/clocks.jsonl"
}

part_rates() {
    [ -f "$base/manifest" ] || { record rates null "$UNPREPARED" && return; }
    begin_watch
    while read -r kind name encoding precision lengths; do
        [ "$kind" = rates ] || continue
        for models in 1 $replicas; do
            check "$name, rate of $models" bench_one "$name" "$encoding" "$precision" "$lengths" "$models"
        done
    done <"$base/manifest"
    end_watch rates
}

part_peaks() {
    timeout "$(at_most 60)" "$PYTHON" tests/device/peaks.py >"$work/parts/peaks.jsonl" 2>>"$log" ||
        record peaks null "PyTorch could not measure them; see log.txt"
    say "peaks: $(wc -l <"$work/parts/peaks.jsonl") measured"
}

# profile_one METRICS FLAG...: profiles the third launch of the long kernel, with a line of profile.jsonl for each
# metric. The clocks are not changed.
profile_one() {
    metrics=$1
    shift
    timeout "$(at_most 45)" "$ncu" --clock-control none --kernel-name regex:train --launch-skip 2 --launch-count 1 \
        --csv --metrics "$metrics" "$(get_trainer $profiled)" bench --device cuda --seconds 0.05 --lengths 20 "$@" \
        >"$work/ncu.csv" 2>>"$log"
    cat "$work/ncu.csv" >>"$log"
    sed 's/^"//; s/"$//; s/","/\t/g' "$work/ncu.csv" | awk -F '\t' -v models="$profiled, ${*:-one model}" '
        $1 == "ID" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        NF > 5 && ("Metric Name" in at) {
            printf "{\"name\":\"%s, %s\",\"value\":\"%s %s\"}\n", models, $at["Metric Name"], $at["Metric Value"],
                $at["Metric Unit"]
            found = 1
        }
        END { exit !found }' >>"$work/parts/profile.jsonl"
}

FEW_METRICS=gpu__time_duration.sum,launch__registers_per_thread,launch__grid_size
METRICS=$FEW_METRICS,sm__throughput.avg.pct_of_peak_sustained_elapsed,\
sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active,\
smsp__issue_active.avg.pct_of_peak_sustained_active,lts__t_bytes.avg.pct_of_peak_sustained_elapsed,dram__bytes.sum

# Profiles one model and thirty, by tiles and by warp; uses fewer metrics if this GPU or this ncu lacks one.
part_profile() {
    ncu=$(find_tool ncu)
    [ -n "$ncu" ] || { say "profile: Nsight Compute is not installed" && return; }
    by_tiles=$(list_trainers rates | grep 'parity_.*_tf32$' | head -n 1)
    [ -n "$by_tiles" ] || { say "profile: $UNPREPARED" && return; }
    for profiled in $(list_trainers rates | grep "^$by_tiles"); do # also the trainer with the suffix _warps
        for models in "" "--replicas $replicas"; do
            # shellcheck disable=SC2086
            profile_one "$METRICS" $models || profile_one "$FEW_METRICS" $models ||
                say "profile: $(grep -h -i error "$work/ncu.csv" "$log" | tail -n 1)"
        done
    done
}

# --- sanitize -----------------------------------------------------------------------------------------------------

# sanitize_one NAME TOOL: exit status 0 without findings, 9 with findings, 77 if the tool cannot run.
sanitize_one() {
    rm -rf "$work/sanitize"
    timeout -k 5 "$(at_most 40)" "$sanitizer" --tool "$2" --error-exitcode 9 --report-api-errors no --print-limit 5 \
        "$(get_trainer "$1")" train --device cuda --steps 2 --seed $seed --out "$work/sanitize" >"$work/sanitized" 2>&1
    status=$?
    cat "$work/sanitized"
    [ $status -ne 0 ] || return 0
    case $status in 124 | 137) echo "took too long" && return 77 ;; esac
    ! grep -i -e 'not supported' -e 'internal sanitizer' "$work/sanitized" | tail -n 1 | grep . || return 77
    grep -e '========= [A-Z][a-z]' -e 'ERROR SUMMARY' -e 'RACECHECK SUMMARY' "$work/sanitized" | head -n 1
    return $status
}

# Takes two minutes at most: racecheck may be some hundred times slower than the kernels.
part_sanitize() {
    sanitizer=$(find_tool compute-sanitizer)
    [ -n "$sanitizer" ] || { say "sanitize: Compute Sanitizer is not installed" && return; }
    start_time=$(date +%s)
    for tool in memcheck racecheck synccheck initcheck; do
        for name in $(list_trainers sanitize); do
            if [ $(($(date +%s) - start_time)) -ge 80 ]; then
                record "$name, $tool" null "no time left"
            else
                check "$name, $tool" sanitize_one "$name" "$tool"
            fi
        done
    done
}

# --- peers --------------------------------------------------------------------------------------------------------

# time_peer NAME SCRIPT SECONDS: adds a framework's lines to the cache. The script is started again if it exits with
# status 5, since the GPU accepts no more work of a process after a failure; the failed case is then in the cache and is
# left out. One case may compile for a third of the time, so that others are timed.
time_peer() {
    end_time=$(($(date +%s) + $3)) status=5
    : >"$work/$1.log"
    while [ $status -eq 5 ]; do
        seconds=$((end_time - $(date +%s)))
        [ $seconds -gt 15 ] || return 124
        # shellcheck disable=SC2086
        timeout -k 5 $seconds "$PYTHON" "tests/peers/$2" --reference "$base/peers" --out "$cache" \
            --limit $((seconds - 10)) --case-limit $(($3 / 3)) $fresh $peer_flags >>"$log" 2>>"$work/$1.log"
        status=$? fresh=''
        [ "$(date +%s)" -lt $end_time ] || return 124
    done
    return $status
}

# run_peer NAME SCRIPT SECONDS: lets a framework be checked and timed, and records the result.
run_peer() {
    case ,$peers, in *,"$1",*) ;; *) return ;; esac
    "$PYTHON" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$1'))" ||
        { record "peer $1" null "not installed" && return; }
    [ "$3" -gt 15 ] || { record "peer $1" null "no time left" && return; }
    (time_peer "$@")
    status=$?
    cat "$work/$1.log" >>"$log"
    logits=$(grep -c ' logits ' "$work/$1.log") timed=$(grep -c ' steps/s' "$work/$1.log")
    bad=$(grep -c ' Case(' "$work/$1.log")
    summary=$(grep '^[a-z]*: *[0-9.]* s  ' "$work/$1.log" | tail -n 1)
    summary="$logits checks of logits, $timed rates, $bad failed; $summary"
    if [ $status -eq 124 ] && [ $((logits + timed)) -eq 0 ]; then
        record "peer $1" null "took too long; $(tail -n 1 "$work/$1.log")"
    elif [ $status -ne 0 ] && [ $status -ne 124 ]; then
        why=$(grep -e ', expected at most' -e 'not finite' -e rror "$work/$1.log" | tail -n 1)
        record "peer $1" false "exit status $status; $why; $summary"
    elif [ "$timed" -eq 0 ] && [ "$bad" -gt 0 ]; then
        record "peer $1" false "$summary"
    else
        record "peer $1" true "$summary"
    fi
}

part_peers() {
    [ -d "$base/peers" ] || { record peers null "$UNPREPARED" && return; }
    case $peers in
        *,*) run_peer jax jax_gpu.py $(($(print_seconds_left) * 45 / 100)) && save ;;
        *) run_peer jax jax_gpu.py "$(print_seconds_left)" ;;
    esac
    run_peer torch pytorch_gpu.py "$(print_seconds_left)"
}
