# Exports models to PyTorch in three ways. First, without a trainer: models of every encoding are used on the meta
# device, in bfloat16, float16 and float64, by torch.export over lengths, traced, and, if onnxscript and onnxruntime are
# installed, in ONNX. Second: every encoding and every form of a network is exported after a few steps, and its logits
# are compared with those of the trainer. Third: LH_RANDOM=200 random networks are compared with an interpreter of their
# graphs. LH_EXPORT selects cases by a shell pattern. PyTorch is needed (LONGHAND_PYTHON names another Python than
# python3).

. tests/system/common.sh

"$PYTHON" -c 'import torch' 2>/dev/null || {
    echo "skip long_export: $PYTHON has no torch (LONGHAND_PYTHON names another Python)"
    exit 0
}

are_used_in_torch() {
    mkdir "$work/presets" && "${LUA:-lua5.4}" tests/support/render_presets.lua "$work/presets" &&
        "$PYTHON" tests/python/travel.py "$work/presets" "${LH_EXPORT:-*}.py"
}

expect models_are_used_in_torch are_used_in_torch
grep -e PyTorch -e ONNX "$work/.output"

# A training from parameters that save() of model.py has written has the lines of one from the checkpoint: NAME.
saves_parameters() {
    "$PYTHON" -c "import sys; sys.path[:0] = sys.argv[1:2]; import model; model.save(model.load(), sys.argv[2])" \
        "$work/torch/$1" "$work/saved.safetensors" || return
    for from in "$work/saved.safetensors" "$work/torch/$1/checkpoint.safetensors"; do
        "$work/trainer/trainer" train --init "$from" --steps 20 --out "$work/from_$(basename "$from" .safetensors)" \
            --threads 1 --no-eval >/dev/null || return
    done
    for from in saved checkpoint; do
        sed 's/,"steps_per_second".*//' "$work/from_$from"/*/*/*/metrics.jsonl >"$work/$from.lines" || return
    done
    [ -s "$work/saved.lines" ] && cmp "$work/saved.lines" "$work/checkpoint.lines"
    status=$?
    rm -rf "$work"/from_* "$work"/*.lines "$work/saved.safetensors"
    return $status
}

TRAIN_LENGTHS='lengths = { 1, 6 },' EVAL_LENGTHS='lengths = { list = { 4 } },'

STACK='layers = 2'

# Trains and exports a model to $work/torch: NAME MODEL ENCODING [FIELDS], the last three in the syntax of a spec.
exports() {
    spec=$work/$1.lua
    echo "return { encoding = { $3 }, model = { $STACK, heads = 2, width = 16, feedforward = 32, dropout = 0.1, $2 },
        train = { batch = 8, learning_rate = 1e-2, steps = 40, $TRAIN_LENGTHS log_every = 20 },
        eval = { $EVAL_LENGTHS examples = 4 }, ${4:-task = { kind = \"reverse_string\" \}} }" >"$spec"
    ./longhand build "$spec" --levels best --out "$work/trainer" >/dev/null &&
        "$work/trainer/trainer" train --out "$work/runs" --threads 1 --no-eval >/dev/null &&
        ./longhand export pytorch "$work/runs/$1"/*/* --spec "$spec" --trainer "$work/trainer/trainer" \
            --out "$work/torch/$1" && { [ "$1" != relative ] || saves_parameters "$1"; }
    status=$?
    rm -rf "$work/trainer" "$work/runs"
    return $status
}

# Runs the check `exports` if LH_EXPORT selects it: ARGUMENTS of exports.
try() {
    case $1 in ${LH_EXPORT:-*}) expect "$1_is_exported" exports "$@" ;; esac
}

for file in spec/encodings/*.lua; do
    name=$(basename "$file" .lua)
    # Presets for grids, encoder-decoders and decoders: see below.
    case $name in lst_2d* | abc_* | coupling) continue ;; esac
    try "$name" "" "kind = \"$name\""
done

DRAWN='positions = { kind = "randomized", max_position = 64'
try drawn_rope "" "$DRAWN }, kind = \"rope\""
try drawn_pass "" "$DRAWN, draw = \"pass\" }, kind = \"relative\""
try drawn_sides "" "$DRAWN, sides = \"independent\" }, kind = \"alibi\""
try drawn_difference "" "$DRAWN, reading = \"difference\" }, kind = \"shaw\""
try drawn_sequence "" "$DRAWN, draw = \"sequence\" }, kind = \"learned\""

BLOCKS='at = "block", dropout = 0.2'
try block_tables "" "additive = { kind = \"learned\", rows = 40, $BLOCKS }, relative = { kind = \"shaw\", clip = 3,
    sides = \"left\" }, mask = { kind = \"causal\" }, normaliser = { temperature = 0.5 },
    projections = { bias = true, output = false }"
try block_drawn "" "additive = { kind = \"learned\", rows = 64, learned = false, $BLOCKS }, $DRAWN, draw = \"layer\" },
    rotation = { kind = \"rope\" }"
try block_sequence "" "additive = { kind = \"sinusoid\", $BLOCKS }, $DRAWN, draw = \"sequence\" },
    projections = { output = false }"
sed 's/_reverse_string/_mirrored/; s/^ [*] chance:.*/&\n * grid: 3/' runtime/data/tasks/reverse_string.c \
    >"$work/mirrored.c"
try grid "" "additive = { kind = \"sinusoid\", channels = \"interleaved\", $BLOCKS }, positions = { kind = \"grid\" }" \
    'task = { source = "mirrored.c" }'

PRE='norm = { place = "pre" }' DECODER='kind = "decoder"'
for encoding in none rope relative alibi; do
    try "decoder_$encoding" "$DECODER" "kind = \"$encoding\""
    try "decoder_${encoding}_pre" "$DECODER, norm = { kind = \"rms\", place = \"pre\" }, activation = \"swiglu\",
        tied = true" "kind = \"$encoding\""
done
try decoder_tied "$DECODER, tied = true" 'kind = "sinusoid"'
try decoder_blocks "$DECODER" "additive = { kind = \"learned\", rows = 40, $BLOCKS }, kind = \"alibi\",
    normaliser = { temperature = 2 }"
try decoder_learned_window "$DECODER, bias = \"all\"" 'additive = { kind = "learned", rows = 30 },
    mask = { kind = "window", left = 3 }'
try decoder_drawn "$DECODER" "$DRAWN }, kind = \"relative\""
try decoder_row_sums "$DECODER" 'score = function(x) return x.score - x.slope * log(1 + sum_to_query(sigmoid(x.score)))
    + 0.1 * sum_to_query(x.slope) end, parameters = { slope = { per = "layer_head", init = 0.7 } }'
try decoder_log_length "$DECODER, $PRE" 'kind = "log_length"'
try decoder_pauses "$DECODER" 'kind = "rope"' 'task = { kind = "reverse_string", computation = 2 }'
try decoder_abacus "$DECODER" 'use = "abacus", rotation = { kind = "rope" }, positions = { elsewhere = "index" }'
COUPLED='kind = "coupling", positions = { max_position = 40'
try decoder_coupling "$DECODER" "$COUPLED }"
try decoder_coupling_rope "$DECODER" "$COUPLED, elsewhere = \"index\" }, rotation = { kind = \"rope\" }" \
    'task = { kind = "reverse_string", computation = 2 }'
try decoder_double "$DECODER, $PRE, bias = \"none\"" 'kind = "rope"' \
    'precision = "float64", task = { kind = "bucket_sort" }'
try encoder_geometric_bias "bias = \"all\", $PRE" 'kind = "geometric"'
FINAL='output = "feedforward", activation = "geglu"'
try decoder_final "$DECODER, $FINAL, output_bias = false" 'kind = "rope"'
try encoder_final "$FINAL, $PRE" 'kind = "alibi"'
for activation in gelu gelu_tanh silu swiglu geglu; do
    try "encoder_$activation" "activation = \"$activation\"" 'kind = "rope"' \
        'precision = "float64", task = { kind = "reverse_string" }'
done
try encoder_rms 'norm = { kind = "rms" }, bias = "none", init = "torch"' 'kind = "t5"'
NOISE='loops = { times = 4, inject = true, start = "noise", deviation = 0.5 }'
try decoder_noise "$DECODER, $NOISE" 'kind = "rope"'
try encoder_noise "$PRE, bias = \"all\", $NOISE" "$DRAWN, draw = \"pass\" }, kind = \"rope\"" \
    'precision = "float64", task = { kind = "reverse_string" }'
LOOPS='loops = { times = "length", inject = true, start = "zeros", norm = "inside" }'
try encoder_by_length "$PRE, $LOOPS" "$DRAWN, draw = \"pass\" }, kind = \"rope\""
try encoder_rms_pre 'norm = { kind = "rms", place = "pre" }, bias = "all", init = "xavier"' 'kind = "none"'
try encoder_without_spare 'spare_token = false' 'kind = "none"'

LATIN='embedding = "linear", branch_activation = "gelu", bias = "all", init = "torch"'
try encoder_last "$LATIN, readout = \"last\"" 'kind = "rope"' 'task = { kind = "even_pairs" }'
lengths="$TRAIN_LENGTHS" eval_lengths="$EVAL_LENGTHS" TRAIN_LENGTHS='' EVAL_LENGTHS=''
try encoder_probe "$LATIN, readout = \"probe\"" 'kind = "learned", additive = { rows = 20 }' \
    'task = { kind = "latin_square" }'
try decoder_sums "$DECODER" 'kind = "coupling", positions = { max_position = 40 }' \
    'task = { kind = "free_addition", options = { longest = 5, pairs = 64 } }'
TRAIN_LENGTHS="$lengths" EVAL_LENGTHS="$eval_lengths"

STACK='kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2'
for encoding in abc_a abc_b abc_c abc_d; do
    try "$encoding" "" "kind = \"$encoding\""
done
try lines "" 'encoder = { mask = { kind = "antidiagonal", width = 1, stride = 2 } },
    decoder = { lines = { { head = 0, direction = 1, line = -1, value = 1.5 },
        { head = 1, direction = -1, line = 2, value = 0.5 } } },
    cross = { rotation = { kind = "rope" }, positions = { kind = "cyclic", period = 3 },
        lines = { { head = 1, direction = 0, line = 1, value = 2 }, { head = 1, direction = 1, line = 0, value = -1 } } }'
try pair_abacus "" 'kind = "abacus"'
try pair_coupling "" "$COUPLED }"
STACK='layers = 2'

cp examples/own_network/parallel_block.lua tests/specs/descriptions/blocks.lua "$work"
try own_block 'source = "parallel_block.lua"' 'kind = "relative"'
try own_block_drawn 'source = "parallel_block.lua", options = { gate = "gelu" }' "$DRAWN }, kind = \"rope\""
try own_blocks 'source = "blocks.lua"' 'kind = "t5"'
try own_decoder "$DECODER, source = \"blocks.lua\"" 'kind = "sinusoid"'

# Lines of an exported forward pass compute the operations of its graph: random networks agree with an interpreter.
networks_agree() {
    mkdir "$work/networks" && "${LUA:-lua5.4}" tests/support/render_exports.lua "$work/networks" "${LH_RANDOM:-200}" &&
        "$PYTHON" tests/python/check_networks.py "$work/networks"
}

expect random_networks_agree_in_torch networks_agree
cat "$work/.output"
expect models_agree_in_torch "$PYTHON" tests/python/use_model.py "$work"/torch/*
cat "$work/.output"
finish
