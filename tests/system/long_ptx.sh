# Runs compiled device code on the host (tests/ptx/check.sh): every test spec of the emulation, the showcase in every
# precision, and texts with one barrier left out. The suite itself has one spec of each precision and the showcase in
# float32.

sh tests/ptx/check.sh --all
