# A teacher that fails on numbers with more digits than in training calibrates a student that solves them.

. tests/system/common.sh

cat >"$work/teacher.lua" <<'END'
return {
  task = { kind = "successor", options = { width = 24, numbers = 16384 } },
  encoding = { kind = "sinusoid" },
  model = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 2, heads = 4, width = 64, feedforward = 128,
    dropout = 0, bias = "all", init = "xavier" },
  train = { batch = 64, steps = 1500, learning_rate = 2e-3 },
  eval = { by = { digits = { 1, 23 } }, examples = 100 },
}
END

# Prints the share of exact matches on numbers of 10 to 23 digits, and how many counts of digits that are, which must be
# 14; training had 1 to 5 digits: FOLDER of runs.
score_long_numbers() {
    sed -n 's/.*"by":{"digits":\([0-9]*\)}.*"exact_match":\([0-9.e-]*\).*/\1 \2/p' "$work/$1"/*/*/*/eval.jsonl |
        awk '$1 >= 10 { sum += $2; n++ } END { print sum / n, n; exit n != 14 }'
}

fails_on_more_digits() {
    ./longhand build "$work/teacher.lua" --levels best --out "$work/trainer" &&
        "$work/trainer/trainer" train --out "$work/teacher" --threads 2 &&
        score_long_numbers teacher && [ "$(score_long_numbers teacher | awk '{ print ($1 < 0.1) }')" = 1 ]
}

finds_its_lines() {
    ./longhand calibrate "$work"/teacher/*/*/* --trainer "$work/trainer/trainer" --spec "$work/teacher.lua" \
        --set rows=5 --set threshold.self=0
}

solves_any_number_of_digits() {
    ./longhand build "$work/teacher_calibrated.lua" --levels best --out "$work/trainer" &&
        "$work/trainer/trainer" train --out "$work/student" --threads 2 --steps 800 &&
        score_long_numbers student && [ "$(score_long_numbers student | awk '{ print ($1 > 0.95) }')" = 1 ]
}

expect_each teacher_ fails_on_more_digits finds_its_lines
expect_each student_ solves_any_number_of_digits
finish
