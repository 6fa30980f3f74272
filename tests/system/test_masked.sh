# Masked labels in dataset files and in a user's task, whose labels are at the tokens of the input: a loss of all labels
# or of those that count, run.json, evaluations, predictions, and refused samplers.

. tests/system/common.sh

LUA=${LUA:-lua5.4}
counted=$work/counted/trainer # its loss has the labels that count, mask 1
all=$work/all/trainer # its loss has all labels

# Writes copies of three to six digits. masked.jsonl masks every second label; null.jsonl has null at these places, and
# other.jsonl other targets. plain.jsonl has the same examples without masks, and ones.jsonl with masks of ones.
# test.jsonl masks all labels at length 4.
write_files() {
    (cd "$work" && "$LUA" - <<'END')
local state = 1
local function digit()
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % 5
end
local files = {}
for _, name in ipairs({ "masked", "null", "other", "plain", "ones", "test" }) do
  files[name] = assert(io.open(name .. ".jsonl", "w"))
end
local function put(file, input, target, mask)
  file:write(('{"input":[%s],"target":[%s]%s}\n'):format(table.concat(input, ","), table.concat(target, ","),
    mask and (',"mask":[%s]'):format(table.concat(mask, ",")) or ""))
end
for i = 1, 60 do
  local input, other, null, mask, ones, none = {}, {}, {}, {}, {}, {}
  for k = 1, 3 + i % 4 do
    input[k], mask[k], ones[k] = digit(), k % 2, 1
    other[k] = k % 2 == 0 and (input[k] + 1) % 5 or input[k]
    null[k] = k % 2 == 0 and "null" or input[k]
    none[k] = (3 + i % 4 == 4) and 0 or k % 2
  end
  put(files.masked, input, input, mask)
  put(files.null, input, null)
  put(files.other, input, other, mask)
  put(files.plain, input, input)
  put(files.ones, input, input, ones)
  put(files.test, input, input, none)
end
END
    cat >"$work/copies.lua" <<'END'
return {
  task = { data = "masked.jsonl", eval = "test.jsonl", input_symbols = 5, output_symbols = 5, longest = 12 },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, readout = "in_place" },
  encoding = { kind = "rope" },
  train = { batch = 8, steps = 12, learning_rate = 1e-2, log_every = 4 },
}
END
}

builds() {
    write_files || return
    ends_with 0 'loss of the labels that count (mask 1)' ./longhand plan "$work/copies.lua" &&
        ends_with 0 'loss of all labels, including masked ones' ./longhand plan "$work/copies.lua" --set task.loss=all &&
        ./longhand build "$work/copies.lua" --levels best --out "$work/counted" &&
        ./longhand build "$work/copies.lua" --levels best --out "$work/all" --set task.loss=all
}

# Trains on a file and prints the parameters: TRAINER FILE.
train_and_print() {
    rm -rf "$work/runs"
    "$1" train --data "$work/$2.jsonl" --eval-data "$work/test.jsonl" --out "$work/runs" --threads 2 --no-eval \
        >/dev/null 2>&1 &&
        "$LUA" tests/bits/tensors.lua "$work"/runs/*/*/*/checkpoint.safetensors
}

# Checks whether a trainer learns the same parameters from two files, as expected: TRAINER yes|no FILE FILE.
learns_the_same() {
    train_and_print "$1" "$3" >"$work/one" && train_and_print "$1" "$4" >"$work/two" && [ -s "$work/one" ] || return
    if cmp -s "$work/one" "$work/two"; then found=yes; else found=no; fi
    [ "$found" = "$2" ] || { echo "the same parameters from $3 and $4: $found, expected: $2" && return 1; }
}

# Without masked labels both losses have the same bits.
have_equal_losses_without_masks() {
    train_and_print "$counted" plain >"$work/one" && train_and_print "$all" plain >"$work/two" &&
        cmp "$work/one" "$work/two"
}

are_reported_in_run_json() {
    "$counted" train --data "$work/masked.jsonl" --eval-data "$work/test.jsonl" --out "$work/counted_runs" \
        >"$work/screen" || return
    record=$(find_run counted_runs)/run.json
    grep -q '"train_masked":120' "$record" && grep -q '"eval_masked":' "$record" &&
        grep -q '"loss":"counted","seed"' "$record" || { cat "$record" && return 1; }
    "$all" train --data "$work/plain.jsonl" --eval-data "$work/test.jsonl" --out "$work/all_runs" --no-eval \
        >/dev/null && record=$(find_run all_runs)/run.json &&
        grep -q '"loss":"all","seed"' "$record" && ! grep -q 'train_masked' "$record"
}

# The loss of the first steps is near that of guessing, ln 5, per label that counts: a mean over all labels would be
# smaller.
have_a_loss_per_label_that_counts() {
    sed -n 1p "$(find_run counted_runs)/metrics.jsonl" | "$LUA" -e '
        local loss = tonumber(io.read("a"):match("\"loss\":([%d.e-]+)"))
        assert(loss > 0.9 and loss < 2.2, "a loss of " .. loss)'
}

# Every input token has an answer, and a label that is null does not count.
are_predicted_in_place() {
    file=$(find_run counted_runs)/checkpoint.safetensors
    ends_with 0 '' "$counted" predict --checkpoint "$file" --text '123' && grep -q '^[0-4][0-4][0-4]$' "$work/.out" &&
        echo '{"input":[1,2,3],"target":[null,null,null]}' | ends_with 0 '"wrong":[]}' \
            "$counted" predict --checkpoint "$file" && grep -q '"argmax":\[[0-4],[0-4],[0-4]\]' "$work/.out" &&
        echo '{"input":[1,2,3],"outputs":2}' | ends_with 1 'expected: 3, as many as model.readout reads' \
            "$counted" predict --checkpoint "$file" || return
    echo '{"input":[1,2],"target":[1]}' >"$work/short.jsonl"
    ends_with 1 'short.jsonl:1: input and target have 2 and 1 tokens' "$counted" train --data "$work/short.jsonl"
}

# At length 4 no label counts, so there is no score.
have_no_score_without_a_label() {
    results=$(find_run counted_runs)/eval.jsonl
    grep -F '"by":{"length":4}' "$results" >"$work/line" &&
        grep -q '"counted":0' "$work/line" && ! grep -q 'accuracy\|exact_match\|loss' "$work/line" &&
        ! grep -F '"by":{"length":3}' "$results" | grep -q '"counted"' &&
        grep -q 'no counted labels' "$work/screen" || { cat "$results" "$work/screen" && return 1; }
}

# A sampler that masks labels needs a line `mask:` in its comment; without it the sampler is refused.
are_declared_by_own_tasks() {
    cat >"$work/halves.c" <<'END'
/* Halves: the input again, of which the first half counts.
 *
 * input symbols:  a
 *                 10..11
 * output symbols: a 10..11
 * input length:   n
 * output length:  n
 * chance:         0.333
 */
#include "longhand/task.h"

lh_task_sample lh_task_halves;

void lh_task_halves(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->target[i] = example->input[i] = (uint16_t)lh_rng_below(rng, 3);
    for (int i = (n + 1) / 2; i < n; i++) example->mask[i] = 0;
}
END
    cat >"$work/halves.lua" <<'END'
return { task = { source = "halves.c" },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, readout = "in_place" }, encoding = { kind = "rope" }, train = { batch = 8, steps = 4, learning_rate = 1e-2, lengths = { 2, 5 } },
  eval = { lengths = { 2, 6 }, examples = 8 } }
END
    ends_with 1 'halves masks no label' ./longhand check "$work/halves.lua" --set task.loss=counted &&
        ./longhand build "$work/halves.lua" --levels best --out "$work/halves" &&
        ends_with 1 'mask[1] is 0' "$work/halves/trainer" train --out "$work/own" &&
        ends_with 1 '`mask: loss`' "$work/halves/trainer" train --out "$work/own" &&
        ends_with 1 '`mask: accuracy`' "$work/halves/trainer" train --out "$work/own" || return
    sed -i 's/^ \* chance:/ * mask:           loss\n&/' "$work/halves.c" &&
        ./longhand build "$work/halves.lua" --levels best --out "$work/halves" &&
        "$work/halves/trainer" train --out "$work/own" && grep -q '"loss":"counted","seed"' "$work"/own/*/*/*/run.json
}

expect masked_builds builds
if [ "$failures" -eq 0 ]; then
    expect masked_targets_are_in_no_loss learns_the_same "$counted" yes masked other
    expect masked_targets_are_in_a_loss_of_all learns_the_same "$all" no masked other
    expect masked_labels_change_the_loss learns_the_same "$counted" no masked plain
    expect null_is_a_masked_label learns_the_same "$counted" yes masked null
    expect masks_of_ones_are_none learns_the_same "$counted" yes plain ones
    expect_each masked_labels_ have_equal_losses_without_masks are_reported_in_run_json \
        are_predicted_in_place have_a_loss_per_label_that_counts have_no_score_without_a_label are_declared_by_own_tasks
fi
finish
