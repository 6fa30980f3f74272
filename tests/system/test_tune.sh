# Choices of tuned.h: trainers that differ only in their choices have the same bits, in training and in evaluation, and
# report their choices; long_tune.sh has all values, at all levels.

. tests/system/common.sh
. tests/system/tuned.sh

expect tuned_trainers_have_equal_bits keeps_bits 3 parity_dropout_relative --set model.width=64 --set \
    model.feedforward=96 --set model.heads=4
expect tuned_trainer_reports_its_choices reports_its_choices

expect tune_without_time_says_so env LONGHAND_CACHE="$work/cache" sh -c '
    ./longhand tune tests/specs/parity_dropout_relative.lua --seconds 1 >"$0" 2>&1; test $? -eq 1 &&
    grep -q "seconds 1: too short to try a choice" "$0" && ! [ -e "$LONGHAND_CACHE" ]' "$work/output"

finish
