# Runs libFuzzer on the readers, half a minute each; see tests/fuzz.

. tests/system/common.sh

if ! command -v clang >/dev/null 2>&1 ||
    ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 99; }' |
        clang -x c -fsanitize=fuzzer -o "$work/probe" - 2>/dev/null; then
    echo "skip libfuzzer_finds_nothing: no clang with libFuzzer"
    exit
fi
expect libfuzzer_finds_nothing make -s fuzz FUZZ_SECONDS=30
finish
