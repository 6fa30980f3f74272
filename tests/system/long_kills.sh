# Two hundred kills; see test_kills.sh.

LH_KILLS=${LH_KILLS:-200} exec sh tests/system/test_kills.sh
