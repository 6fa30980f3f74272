# All values of all choices of tuned.h, at all levels, of a model with one stream and of one with two, in both precisions.

LEVELS=all
. tests/system/common.sh
. tests/system/tuned.sh

expect tuned_encoder_has_equal_bits same_over 5 parity_dropout_relative --set model.width=64 --set \
    model.feedforward=96 --set model.heads=4
expect tuned_pair_has_equal_bits same_over 5 parity_float64_encoder_decoder

finish
