# Runs test_kills.sh with two hundred kills.

LH_KILLS=${LH_KILLS:-200} exec sh tests/system/test_kills.sh
