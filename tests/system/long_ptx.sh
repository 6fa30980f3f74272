# Runs compiled device code on the host (tests/ptx/check.sh): every test spec of the emulation, the showcase in every
# precision, and texts with one barrier left out. The suite has one spec of each precision and a float32 showcase.

sh tests/ptx/check.sh --all
