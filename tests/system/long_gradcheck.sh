# Runs the gradient checks of every scheme, each with two hundred seeds.

LONG_SEEDS=200
. tests/system/test_gradcheck.sh
