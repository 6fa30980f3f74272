# Tests tests/device without a GPU: run.sh with replacements for nvidia-smi and for trainers, and the tables of
# table.py.
#
# A replacement trainer uses the CPU in place of the GPU; a deliberately wrong one uses another seed on the replaced
# GPU. The tests check that run.sh accepts right results, reports wrong ones, and keeps its measurements, and the parts
# of the peers on the processor (tests/peers/cpu.py) that need no framework.

. tests/system/common.sh

has_python || { echo "skip tests/device: no Python 3.9 or later" && exit 0; }

spec=tests/specs/parity_dropout_sincos.lua
tools=$work/tools
mkdir -p "$tools"

make_stand_ins() {
    ./longhand build $spec --levels best --out "$work/real" >/dev/null 2>&1 &&
        ./longhand build $spec --levels best --set precision=float64 --out "$work/double" >/dev/null 2>&1 || return
    cat >"$tools/nvidia-smi" <<'END'
echo "Stand-in GPU, 1.0, 9.0"
END
    cat >"$tools/compute-sanitizer" <<'END'
# Called as --tool TOOL and six more words of flags, then the command of the trainer.
tool=$2
shift 8
"$@" || exit
case $tool.$FOUND in
    initcheck.*) echo "========= Error: Device not supported" && exit 1 ;;
    racecheck.race) echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" && exit 9 ;;
esac
END
    cat >"$work/right" <<END
#!/bin/sh
[ "\$1" = bench ] && shift && exec "$work/real/trainer" bench --seconds 0.02 --json --lengths 5
[ "\$1" = gradcheck ] && exec "$work/double/trainer" gradcheck --lengths 3
exec "$work/real/trainer" \$(echo "\$@" | sed 's/--device cuda/--device cpu/')
END
    cat >"$work/wrong" <<END
#!/bin/sh
case "\$*" in
    *"train --device cuda"*) exec "$work/right" \$(echo "\$@" | sed 's/--seed 3/--seed 9/') ;;
    *) exec "$work/right" "\$@" ;;
esac
END
    chmod +x "$tools/nvidia-smi" "$tools/compute-sanitizer" "$work/right" "$work/wrong"
}

# prepare_folder FOLDER STAND_IN: makes the files of prepare.sh, with a real trainer for the CPU and the replacement for
# the GPU.
prepare_folder() {
    folder=$work/$1
    mkdir -p "$folder/peers"
    for name in reverse_sinusoid_tf32 reverse_sinusoid_float32 small shown wide_sinusoid_float32; do
        mkdir -p "$folder/trainers/$name" && cp "$2" "$folder/trainers/$name/trainer"
    done
    {
        echo "rates reverse_sinusoid_float32 sinusoid float32 40"
        echo "rates reverse_sinusoid_tf32 sinusoid tf32 40"
        echo "double small"
        echo "wide wide_sinusoid_float32 sinusoid float32"
        echo "sanitize small"
        echo "showcase shown"
    } >"$folder/manifest"
    "$work/real/trainer" train --steps 3 --no-eval --out "$folder/run" 2>/dev/null
    stem=$folder/peers/sinusoid
    cp "$folder"/run/*/*/*/checkpoint.safetensors "$stem.safetensors" &&
        "$work/real/trainer" sample --length 4 --count 2 | sed 's/,"target".*/}/' >"$stem.reverse_4.inputs.jsonl" &&
        "$work/real/trainer" predict --checkpoint "$stem.safetensors" <"$stem.reverse_4.inputs.jsonl" \
            >"$stem.reverse_4.logits.jsonl"
}

# run FOLDER FLAG...: runs run.sh with the replacements; results are in FOLDER.out.
run() {
    folder=$work/$1
    shift
    PATH=$tools:$PATH PYTHON=$PYTHON PREPARED=$folder OUT=$folder.out sh tests/device/run.sh "$@"
}

no_gpu() {
    mkdir -p "$work/none" && printf 'exit 9\n' >"$work/none/nvidia-smi" && chmod +x "$work/none/nvidia-smi"
    PATH=$work/none:$PATH ends_with 77 "no GPU here" sh tests/device/run.sh
}

right_passes() {
    prepare_folder right.d "$work/right" && ends_with 0 " 0 failed" run right.d --parts checks,bits,rates &&
        grep -q '"check": "small, 5 steps"' "$work/right.d.out/results.json" &&
        grep -q '"check": "small, gradients"' "$work/right.d.out/results.json" &&
        grep -q '"check": "shown, killed"' "$work/right.d.out/results.json" &&
        grep -q '"check": "wide_sinusoid_float32, evaluation"' "$work/right.d.out/results.json" &&
        grep -q '"check": "wide_sinusoid_float32, side by side"' "$work/right.d.out/results.json" &&
        grep -q '"check": "reverse_sinusoid_tf32, logits"' "$work/right.d.out/results.json" &&
        grep -q '| tf32 | sinusoid |' "$work/right.d.out/report.md"
}

sanitizer_is_heard() {
    FOUND=nothing ends_with 0 " 0 failed, 1 skipped" run right.d --parts sanitize &&
        grep -q "ok small, memcheck" "$work/.out" && grep -q "skip small, initcheck: .*not supported" "$work/.out" &&
        FOUND=race ends_with 1 "not ok small, racecheck: ========= RACECHECK SUMMARY: 1 hazard" \
            run right.d --parts sanitize
}

# A peer is started again if its first process loses the device; its lines are used.
peer_starts_again() {
    cat >"$tools/python" <<END
case "\$*" in
    *find_spec*) exit 0 ;;
    tests/peers/*) echo "\$*" >>"$work/starts" ;;
    *) exec "$PYTHON" "\$@" ;;
esac
if [ \$(wc -l <"$work/starts") -eq 1 ]; then
    echo "jax:    1.0 s  Case(encoding='sinusoid'): broken" >&2
    exit 5
fi
echo "jax:    1.0 s  logits sinusoid: 1e-7" >&2
echo "jax:    2.0 s  scan         sinusoid      100.0 steps/s" >&2
END
    chmod +x "$tools/python"
    PYTHON=$tools/python ends_with 0 "ok peer jax: 1 checks of logits, 1 rates, 1 failed" \
        run right.d --parts peers --peers jax --fresh --peer-flags "--windows=3 --batch=8" || return
    [ "$(wc -l <"$work/starts")" -eq 2 ] && grep -q -e '--fresh --windows=3 --batch=8$' "$work/starts" &&
        [ "$(grep -c -e --fresh "$work/starts")" -eq 1 ]
}

wrong_fails() {
    prepare_folder wrong.d "$work/wrong" && ends_with 1 "not ok small, 5 steps" run wrong.d --parts checks &&
        grep -q "not ok reverse_sinusoid_tf32, 5 steps" "$work/.out"
}

# A wide model without its library is skipped by name; the others are checked.
wide_needs_a_library() {
    prepare_folder narrow.d "$work/right" || return
    cat >"$work/narrow.d/trainers/wide_sinusoid_float32/trainer" <<'END' || return
#!/bin/sh
echo "error: no cuBLASLt for the products of a model as wide as this one; looked in: nowhere" >&2
exit 4
END
    ends_with 0 " 0 failed, 1 skipped" run narrow.d --parts checks &&
        grep -q "skip wide_sinusoid_float32, cuBLASLt: error: no cuBLASLt" "$work/.out"
}

# A missing package is reported before any file is written.
prepare_needs_jansson() {
    printf '#!/bin/sh\ncase "$*" in *-print-file-name=*) echo libjansson.a ;; *) exit 1 ;; esac\n' >"$work/no_jansson" &&
        chmod +x "$work/no_jansson" && CC=$work/no_jansson PREPARED=$work/unprepared ends_with 4 "install libjansson-dev" \
        sh tests/device/prepare.sh && [ ! -e "$work/unprepared" ]
}

# One of two cases does not become ready in time: the next process leaves it out, and with a longer limit it is tried
# again.
peer_has_a_limit_per_case() {
    cat >"$work/limit.py" <<'END'
import sys, time
from gpu_bench import Bench
bench = Bench("stand-in", "1", "", ["scan"], last_variant="none", use_device=lambda: None)
bench.begin("cpu")
for case in bench.list_cases("scan", "tf32", lambda encoding: [""]):
    if bench.is_due(case):
        with bench.report_failures(case):
            with bench.limit_time():
                time.sleep(60 if case.tokens == 21 else 0)
            bench.add(case, [1.0], 0.0, 1.0)
sys.exit(bench.end())
END
    set -- --reference none --out "$work/limit.jsonl" --encodings sinusoid --shapes 21:1,41:1 --replicas 1
    mkdir -p "$work/modules" && touch "$work/modules/numpy.py" || return
    export PYTHONPATH="$work/modules:tests/peers"
    ends_with 5 "not ready to be timed after 0.2 s" "$PYTHON" -B "$work/limit.py" "$@" --case-limit 0.2 &&
        ends_with 0 "1.0 steps/s" "$PYTHON" -B "$work/limit.py" "$@" --case-limit 0.2 &&
        ends_with 5 "not ready to be timed after 0.3 s" "$PYTHON" -B "$work/limit.py" "$@" --case-limit 0.3 || return
    [ "$(grep -c '"tokens": 41.*"steps_per_second": 1.0' "$work/limit.jsonl")" -eq 1 ]
}

late_keeps_results() {
    prepare_folder late.d "$work/right" && ends_with 0 "no time left" run late.d --parts checks,bits --limit 1 &&
        grep -q '"device": "Stand-in GPU"' "$work/late.d.out/results.json"
}

# print_peer_line NAME:VARIANT:PRECISION:MODELS:RATE: prints a line of peers.jsonl.
print_peer_line() {
    echo "$1" | awk -F : '{
        printf "{\"peer\":\"%s\",\"variant\":\"%s\",\"precision\":\"%s\",", $1, $2, $3
        printf "\"replicas\":%d,\"model_steps_per_second\":%d,", $4, $5
        print "\"encoding\":\"sinusoid\",\"tokens\":41,\"version\":\"1\",\"form\":\"plain\",\"compile_seconds\":1," \
            "\"measured\":\"-\"}"
    }'
}

has() { grep -qF -e "$2" "$1" || { echo "not in the text: $2" && return 1; }; }

# 2,000 steps of 8.565 GFLOP per second are 17.1 TFLOP/s, 4.3% of 400. The best peer in tf32 makes 1,000 steps per
# second.
table_has_ratios() {
    parts=$work/parts line='"name":"x","encoding":"sinusoid","precision":"tf32","tokens":41'
    mkdir -p "$parts"
    echo '{"device":"G","driver":"1","toolkit":"13.0","date":"2026-01-01","commit":"abc"}' >"$parts/machine.json"
    {
        echo "{$line,\"mode\":\"train\",\"replicas\":1,\"steps_per_second\":2000}"
        echo "{$line,\"mode\":\"train\",\"replicas\":30,\"steps_per_second\":5000}"
        echo "{$line,\"mode\":\"eval\",\"replicas\":1,\"steps_per_second\":9000}"
    } >"$parts/rates.jsonl"
    echo '{"peak":"tf32","flops_per_second":4e14}' >"$parts/peaks.jsonl"
    echo '{"name":"x","kernel":"train","registers":239,"spill_stores":8}' >"$parts/resources.jsonl"
    for row in jax:scan:tf32:1:1000 jax:step:tf32:1:400 pytorch:graph:tf32:1:900 jax:scan:float32:1:5000 \
        jax:scan:tf32:30:4000; do print_peer_line $row; done >"$parts/peers.jsonl"
    for variant in step loop; do
        print_peer_line jax:$variant:tf32:1:0 | sed 's/"model_steps_per_second":0/"error":"Why: out of memory"/'
    done >>"$parts/peers.jsonl"
    printf '{"check":"a","ok":false,"detail":"why"}\n{"check":"torn' >"$parts/checks.jsonl"
    "$PYTHON" tests/device/table.py merge "$parts" >"$work/results.json" 2>/dev/null || return
    "$PYTHON" tests/device/table.py report "$work/results.json" >"$work/report" || return
    "$PYTHON" tests/device/table.py short "$work/results.json" >"$work/short" || return
    one='| tf32 | sinusoid | 41 | 1 | 2,000 | minimum | 4.3% | 34% | 1,000 (scan) | 900 (graph) | 2.00 minimum |'
    many='| 30 | 5,000 | below the minimum | 10.7% | - | 4,000 (scan) | - | 1.25 below the minimum | - |'
    cat "$work/report"
    has "$work/report" "$one 5.00 target | 239, spills |" && has "$work/report" "$many" &&
        has "$work/report" '- jax loop plain sinusoid T=41 tf32 x1: Why: out of memory' &&
        ! grep -q 'jax step plain.*Why' "$work/report" &&
        has "$work/report" '| tf32 | sinusoid | 41 | 1 | 9,000 |' && has "$work/short" 'not ok a: why'
}

# Joins the rates of one run with peers that were timed in another.
runs_join() {
    mkdir -p "$work/later" && cp "$work/parts/machine.json" "$work/parts/peers.jsonl" "$work/later" &&
        print_peer_line jax:scan:tf32:1:700 >"$work/parts/peers.jsonl" &&
        "$PYTHON" tests/device/table.py merge "$work/parts" >"$work/one.json" 2>/dev/null &&
        "$PYTHON" tests/device/table.py merge "$work/later" >"$work/two.json" &&
        "$PYTHON" tests/device/table.py join "$work/one.json" "$work/two.json" >"$work/both.json" &&
        "$PYTHON" tests/device/table.py report "$work/both.json" >"$work/joined" || return
    cat "$work/joined"
    has "$work/joined" '| 2,000 | minimum | 4.3% | 34% | 1,000 (scan) |' && has "$work/joined" '| 700 |' &&
        has "$work/joined" '1 failed' || return
    sed 's/"G"/"H"/' "$work/two.json" >"$work/other.json"
    ends_with 1 "device G and H: results of two machines" \
        "$PYTHON" tests/device/table.py join "$work/one.json" "$work/other.json"
}

# Longhand makes 100, 120, 90 steps per second, eager PyTorch 20, 20, 30, JAX 50, 30, 30; torch.compile failed.
cpu_peers_table() {
    cat >"$work/peers.json" <<'END'
{"date": "2026-01-02", "command": "--minutes 3", "note": "Quiet.", "versions": ["PyTorch 9"],
 "machine": {"processor": "Some CPU", "processors": 2}, "skipped": ["libxsmm: not found"],
 "products": [{"level": "v9", "product": "forward", "rows": 84, "K": 64, "N": 256, "peak": 200, "ours": 150,
               "openblas": 120, "libxsmm": null}],
 "cases": [{"model": "encoder", "mode": "train", "tokens": 21, "batch": 128, "level": "v9", "contenders": {
    "ours": {"setting": {"threads": 2}, "rates": [100, 120, 90], "shares": [0.5, 0.7, 0.6], "compile_seconds": null},
    "eager": {"setting": {"threads": 1, "policy": "passive"}, "rates": [20, 20, 30], "compile_seconds": 1},
    "compile": {"error": "it broke"},
    "jax": {"setting": {"threads": 2, "policy": "passive"}, "rates": [50, 30, 30], "compile_seconds": 4.4}}}]}
END
    "$PYTHON" tests/peers/cpu.py --table "$work/peers.json" >"$work/peers.md" || return
    cat "$work/peers.md"
    row='| v9 | encoder | training | 21 | 128 | 100; 2 | 60.0% | 5.0 (3.0 to 6.0); 1 | failed | 3.0 (2.0 to 4.0); 2 |'
    has "$work/peers.md" "$row 3.0 (2.0 to 4.0) | -, 4 |" && has "$work/peers.md" '- skipped: libxsmm: not found' &&
        has "$work/peers.md" '| 84 x 64 x 256 | 150 (75%) | 120 (60%) | - | 1.25 |' &&
        has "$work/peers.md" 'compile: it broke' && has "$work/peers.md" 'FLAGS="--minutes 3"`. Quiet.' || return
    sed 's/"shares": [^]]*]/"shares": [null, null, null]/' "$work/peers.json" >"$work/no_peak.json"
    "$PYTHON" tests/peers/cpu.py --table "$work/no_peak.json" >"$work/peers.md" &&
        has "$work/peers.md" '| 128 | 100; 2 | - | 5.0 (3.0 to 6.0); 1 | failed |'
}

cpu_peers_skipped() {
    ends_with 2 "nothing: expected some of encoder.train.21" "$PYTHON" tests/peers/cpu.py --cases nothing || return
    best=$(env -u LONGHAND_ISA make -s print-levels LEVELS=best) || return
    plainest=$(make -s print-levels LEVELS=all | cut -d " " -f 1) || return
    if [ "$best" != "$plainest" ]; then
        ends_with 2 "restricted to $plainest: expected some of $best" \
            "$PYTHON" tests/peers/cpu.py --levels "$best,$plainest" --out "$work/none" || return
    fi
    PYTORCH=/none/python JAX=/none/python ends_with 4 "nothing to compare with" \
        "$PYTHON" tests/peers/cpu.py --peers eager,compile,jax --out "$work/none" || return
    has "$work/.out" "skip eager: /none/python has no torch" && has "$work/.out" "skip compile: /none/python" &&
        has "$work/.out" "skip jax: /none/python has no jax or no numpy; pip install jax numpy" || return
    mkdir -p "$work/modules" && touch "$work/modules/torch.py" "$work/modules/numpy.py" || return
    PYTHONPATH=$work/modules:tests/peers CXX=/none/g++ "$PYTHON" -B -c 'import contenders, sys
usable, skipped = contenders.find_usable(["eager", "compile"], {"PYTORCH": sys.executable, "JAX": "/none/python"})
assert usable == ["eager"] and "there is no /none/g++" in skipped[0], (usable, skipped)'
}

# A worker is stopped between two requests, and its errors are reported; a worker without an answer, or with an invalid
# one, is killed. All workers are killed if the program receives SIGHUP. Output during imports is not taken for an
# answer.
cpu_peers_processes() {
    cat >"$work/worker.py" <<'END'
import json, sys, time
print(json.dumps({"version": "stand-in"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    time.sleep(asked["sleep"])
    print(json.dumps(asked["answer"]), flush=True)
END
    PYTHONPATH=tests/peers "$PYTHON" -B - "$work" <<'END' || return
import pathlib, sys, time
from process import Failed, Process
work = pathlib.Path(sys.argv[1])
process = Process([sys.executable, str(work / "worker.py")], {}, work / "worker.log")

def failure(question, patience):
    try:
        process.ask(question, patience)
    except Failed as error:
        return str(error)

assert process.ask({"sleep": 0, "answer": {"steps": 3}}, 600) == {"steps": 3} and process.version == "stand-in"
state = lambda: pathlib.Path(f"/proc/{process.running.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
for _ in range(60000):
    if state() == "T":
        break
    time.sleep(0.01)
assert state() == "T", state()
assert failure({"sleep": 0, "answer": {"error": "no such key"}}, 600) == "no such key"
assert "longer than 0.1 s" in failure({"sleep": 60, "answer": {}}, 0.1) and process.running is None
assert process.ask({"sleep": 0, "answer": {}}, 600) == {}
process.end()

for text in ("Welcome!", "5", '{"no": "version"}'):
    loud = Process([sys.executable, "-c", f"import time; print({text!r}, flush=True); time.sleep(60)"], {}, work / "log")
    try:
        loud.ask({}, 600)
        raise SystemExit(f"took for an answer: {text}")
    except Failed as error:
        assert "expected an answer" in str(error) and loud.running is None, error
END
    cat >"$work/hang_up.py" <<'END'
import os, pathlib, signal, sys
from process import Process, leave_at_signals
work = pathlib.Path(sys.argv[1])
process = Process([sys.executable, str(work / "worker.py")], {}, work / "worker.log")
signal.signal(signal.SIGHUP, signal.SIG_DFL)
leave_at_signals()
try:
    process.ask({"sleep": 0, "answer": {}}, 600)
    (work / "worker.pid").write_text(str(process.running.pid))
    print("asked", flush=True)
    os.kill(os.getpid(), signal.SIGHUP)
    signal.pause()
finally:
    process.end()
END
    ends_with 75 "asked" env PYTHONPATH=tests/peers "$PYTHON" -B "$work/hang_up.py" "$work" || return
    [ ! -d "/proc/$(cat "$work/worker.pid")" ] || { echo "a worker is left" && return 1; }
    mkdir -p "$work/loud" && echo 'print("Welcome!")' >"$work/loud/numpy.py" || return
    echo '{"do": "forget"}' | PYTHONPATH=$work/loud:tests/peers "$PYTHON" -B -c 'import worker
worker.serve(None, "stand-in")' >"$work/output" 2>"$work/.out" || { cat "$work/.out" && return 1; }
    [ "$(head -n 1 "$work/output")" = '{"version": "stand-in"}' ] && has "$work/.out" "Welcome!"
}

expect device_stand_ins_build make_stand_ins
expect device_without_gpu_is_skipped no_gpu
expect device_right_trainer_passes right_passes
expect device_sanitizer_is_heard sanitizer_is_heard
expect device_peer_starts_again peer_starts_again
expect device_wrong_trainer_fails wrong_fails
expect device_wide_needs_a_library wide_needs_a_library
expect device_prepare_needs_jansson prepare_needs_jansson
expect device_peer_has_a_limit_per_case peer_has_a_limit_per_case
expect device_late_run_keeps_its_results late_keeps_results
expect device_table_has_ratios table_has_ratios
expect device_runs_join runs_join
expect cpu_peers_table cpu_peers_table
expect cpu_peers_skipped cpu_peers_skipped
expect cpu_peers_processes cpu_peers_processes
finish
