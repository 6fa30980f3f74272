# Small specs in float64 for every encoding, by name, with every dropout; sourced. `family`, set before, is the prefix
# of their ids. SCHEMES has the names of the suite, MORE_SCHEMES those of the long suite. Both lists together have every
# scheme, every score of the library and every reading (of sampled positions).

SCHEMES="relative rand_shaw fire_softcap gates"
MORE_SCHEMES="none learned rand_rope rand_alibi_learned geometric sinusoid rope rand_learned rand_rope_ntk rope_yarn
    rand_relative rand_relative_difference shaw alibi_learned lst_learned rand_sinusoid rope_linear
    rand_relative_clamped rand_shaw_difference alibi rand_alibi rand_alibi_clamped window t5 rand_t5 rand_t5_difference
    kerple_log rand_kerple_log_difference kerple_power rand_kerple_power_difference fire rand_fire fire_causal sandwich
    rand_sandwich cyclic rand_cyclic distance_table rand_distance_table_difference log_length ssmax softcap
    constant_cap list places rand_places_difference alibi_causal geometric_raw rand_geometric_raw rand_geometric_plain
    label rand_sinusoid_unsorted rand_rope_sequence rand_geometric_raw_sequence rand_relative_independent
    rand_shaw_independent rand_alibi_learned_independent rand_learned_onebased rand_rope_onebased
    rand_relative_onebased abc_a abc_b abc_c abc_d lines lst_1d lst_1d_clean lst_2d lst_2d_clean lst_random
    lst_relative lst_relative_clean lst_rope lst_nope lst_cnope lst_cnope_clean sums_abc_a sums_abc_b sums_abc_c
    sums_abc_d sums_lines sums_alibi sums_alibi_learned sums_rope sums_shaw sums_distance_table sums_pair_table
    sums_windows sums_left_only sums_all abacus coupling fox cable grape_key grape_query grape_both cope
    row_sums row_sums_rope stick_breaking stick_rests local_global_cycle rand_rope_nope_cycle"

CAP='function(x) return exp(x.log_cap) * tanh(x.score / exp(x.log_cap)) end'
CAPPED='parameters = { log_cap = { init = 0.5 } }'

PAIRS='parameters = { rows = 5, columns = 9, bias = { shape = 45 } }' # a table smaller than the frame of sums

# Prints the facets of a scheme by its name; schemes without a preset have their fields here.
print_facets() {
    case $1 in
        sums_abc_[bcd]) echo "use = \"${1#sums_}\", cross = { mask = { stride = 2 } }" ;;
        sums_lines) print_facets lines ;;
        sums_alibi) echo 'use = "sinusoid", decoder = { use = "alibi_causal" }, cross = { use = "alibi" }' ;;
        sums_alibi_learned) echo 'use = "sinusoid", score = { use = "alibi_learned" }' ;;
        sums_pair_table) echo "use = \"pair_table\", $PAIRS" ;;
        sums_windows) echo 'use = "sinusoid", encoder = { mask = { kind = "window", left = 3 } }, decoder = { mask = { kind =
            "window", left = 2 } }, cross = { mask = { kind = "window", left = 2, right = 1 } }' ;;
        sums_left_only) echo 'use = "shaw", cross = { mask = { kind = "antidiagonal", width = 2, left_only = true } }' ;;
        sums_all) echo "use = \"rope\", positions = { kind = \"cyclic\", period = 3 }, additive = { kind = \"sinusoid\" },
            encoder = { score = { use = \"pair_table\" }, $PAIRS }, decoder = { score = { use = \"pair_table\" }, $PAIRS,
            lines = { { head = 0, direction = 1, line = -1, value = 1.5 }, { head = 1, direction = 0, line = 1, value = -1 },
            { head = 1, direction = 1, line = 0, value = 0.5 } } }, cross = { mask = { kind = \"antidiagonal\",
            width = 1, stride = 2 }, normaliser = { temperature = 2 }, score = { use = \"pair_table\" }, $PAIRS }" ;;
        sums_*) echo "use = \"${1#sums_}\"" ;;
        gates) echo 'score = function(x) return x.score + x.rate * sum_between(tanh(x.gate * x.other * x.of_query)) +
            tanh(sum_between(log_sigmoid(x.gate)) + x.of_query) - log_sigmoid(x.of_key) * x.distance end,
            parameters = { rate = { per = "layer_head", init = 0.5 },
            gate = { per = "token", init = { normal = 0.5 } }, other = { per = "token", init = { normal = 0.5 } },
            of_query = { per = "token", from = "query" }, of_key = { per = "token", from = "key", unit = true } }' ;;
        row_sums) echo 'mask = { kind = "causal" }, score = function(x)
            local near = sum_to_query(sigmoid(x.sharpness * x.score + x.of_key) * exp(lookup(x.weight, x.distance)))
            return x.score - x.slope * log(1 + near) + tanh(sum_to_query(x.of_query * tanh(x.score))) * x.of_query
                + x.slope * sum_to_query(exp(sum_between(log_sigmoid(x.gate)))) end,
            parameters = { slope = { per = "layer_head", init = 0.5 }, sharpness = { per = "head", init = 1.5 },
            weight = { per = "layer_head", index = { -15, 0 }, outside = "clip", init = { normal = 0.5 } },
            gate = { per = "token", init = { normal = 0.5 } }, of_query = { per = "token", from = "query" },
            of_key = { per = "token", from = "key", unit = true } }' ;;
        row_sums_rope) echo 'mask = { kind = "causal" }, rotation = { kind = "rope" }, score = {
            function(x) return 0.9 * x.score end, { score = function(x)
            return x.score / (1 + x.rate * sum_to_query(exp(-x.score * x.score))) end,
            parameters = { rate = { init = 0.5 } } } }, normaliser = { temperature = 2 }' ;;
        softcap) echo "score = $CAP, $CAPPED" ;;
        constant_cap) echo 'score = function(x) return 3 * tanh(x.score / 3) end' ;; # a score without tables
        fire_softcap) echo "score = { { use = \"fire\" }, { score = $CAP, $CAPPED } }" ;;
        list) echo 'score = { { use = "window", width = 4 }, { use = "cyclic" }, { use = "kerple_log" } }' ;;
        places) echo 'score = function(x) return x.score + sin(x.rate * x.query) * cos(x.rate * x.key + x.shift) end,
            parameters = { rate = { per = "layer", init = 0.3 }, shift = { per = "head", init = 1 } }' ;;
        geometric_raw) echo 'use = "geometric", normaliser = { normalised = false }, rotation = { kind = "rope" }' ;;
        geometric_plain) echo 'use = "geometric", normaliser = { directional = false }, additive = { kind = "sinusoid" }' ;;
        stick_rests) echo 'use = "stick_breaking", normaliser = { own_key = true, rest = "own_value" },
            rotation = { kind = "rope" }' ;;
        lst_2d*) echo "use = \"$1\", positions = { kind = \"index\" }" ;; # the task has no grid
        lst_learned) echo 'use = "lst_learned", additive = { rows = 64, dropout = 0.2 }, normaliser = { temperature = 0.5 },
            projections = { output = false }' ;;
        lst_random) echo 'use = "lst_random", additive = { rows = 64 }' ;;
        abc_c) echo 'use = "abc_c", cross = { mask = { stride = 2 } }' ;;
        lines) echo 'kind = "sinusoid", decoder = { lines = { { head = 0, direction = 1, line = -1, value = 1.5 },
            { head = 2, direction = 0, line = 0, value = 0.5 } } }, cross = { lines = { { head = 1, direction = -1, line = 1,
            value = 2 }, { head = 1, direction = 1, line = 0, value = 1 } }, score = { use = "alibi_learned" } }' ;;
        label) echo 'use = "label", positions = { max_position = 64 }' ;;
        *) echo "use = \"$1\"" ;;
    esac
}

# Writes the spec of an encoding to $work, by its name: rand_<scheme> has random positions, rand_<scheme>_<reading> also
# a reading or a draw; sums_<scheme> adds numbers, whose digits are aligned, in an encoder-decoder; wide_<scheme> has
# the width of a model whose products a library computes on a GPU; heads_<scheme> and wide_heads_<scheme> have heads too
# wide for a thread, of 36 and 72 channels.
write_spec() {
    positions='' choice='' scheme=$1 stack='layers = 2' sizes='heads = 4, width = 32, feedforward = 48'
    task='kind = "bucket_sort"' train='lengths = { 1, 20 }' eval=$train
    case $scheme in
        wide_heads_*) scheme=${1#wide_heads_} sizes='heads = 4, width = 288, feedforward = 272' ;;
        wide_*) scheme=${1#wide_} sizes='heads = 8, width = 256, feedforward = 272' ;;
        heads_*) scheme=${1#heads_} sizes='heads = 4, width = 144, feedforward = 48' ;;
    esac
    drawn=$scheme scheme=${scheme#rand_}
    case $scheme in
        *_difference | *_clamped) choice=", reading = \"${scheme##*_}\"" scheme=${scheme%_*} ;;
        *_independent) choice=", sides = \"independent\"" scheme=${scheme%_*} ;;
        *_sequence) choice=", draw = \"sequence\"" scheme=${scheme%_*} ;;
        *_unsorted) choice=", sorted = false" scheme=${scheme%_*} ;;
        *_onebased) choice=", range = \"one_based\"" scheme=${scheme%_*} ;;
    esac
    case $scheme in abc_* | lines | sums_*) stack='kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2' ;; esac
    case $scheme in
        sums_*)
            task='kind = "addition", options = { width = 6, input = "aligned", numbers = 256 }' train='use = "duan", batch = 16, epochs = 1'
            eval='splits = { "test" }, by = { digits = { 1, 5 } }' sizes="$sizes, bias = \"all\", init = \"xavier\"" ;;
    esac
    case $scheme in rope_nope_cycle) stack='layers = 5' ;; esac
    case $scheme in coupling) stack='kind = "decoder", layers = 2' task='kind = "reverse_string"' ;; esac
    weights=', attention_dropout = 0.2'
    case $scheme in geometric* | stick_*) weights='' ;; esac # these attentions keep all weights
    case $drawn in rand_*) positions=", positions = { kind = \"randomized\", max_position = 128$choice }" ;; esac
    cat >"$work/${family}_$1.lua" <<SPEC
return {
  task = { $task },
  encoding = { $(print_facets "$scheme")$positions },
  model = { $stack, $sizes, dropout = 0.1, hidden_dropout = 0.3, embedding_dropout = 0.15$weights },
  train = { $train },
  eval = { $eval },
  precision = "float64",
}
SPEC
}
