# A study as an archive: it trains where nothing is installed, goes on after a stop, and comes home to the same bits.

. tests/system/common.sh

cat >"$work/packed.lua" <<'END'
return {
  title = "two cells",
  base = {
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 4, steps = 3000, log_every = 500 },
    encoding = { kind = "none" },
  },
  axes = { { name = "task", values = {
    { name = "parity", spec = { task = { kind = "parity_check" }, train = { lengths = { 1, 4 } },
      eval = { lengths = { 3, 6 }, examples = 16 } } },
    { name = "own", spec = { task = { data = "own.jsonl", input_symbols = 2, output_symbols = 2 } } },
  } } },
  seeds = { 0, 1 },
}
END
for i in 0 1; do echo "{\"input\":[$i,1,0],\"target\":[$i]}"; done >"$work/own.jsonl"

level=$(make -s print-levels LEVELS=best)

bundles() {
    ends_with 0 '2 cells, 4 runs' ./longhand bundle "$work/packed.lua" --levels "$level" --out "$work/packed.tar.gz" &&
        [ -z "$(find "$work" -name '*.partial')" ]
}

# Nothing of this machine but a shell and coreutils: no home, no variable, no library.
there() {
    mkdir -p "$work/there" && tar xzf "$work/packed.tar.gz" -C "$work/there" && rm "$work/own.jsonl" &&
        cd "$work/there/packed" && sha256sum -c --quiet SHA256SUMS && [ -s NOTICE ] && [ -s LICENSE ] &&
        { [ ! -f /usr/share/doc/libjansson-dev/copyright ] || [ -s licences/libjansson-dev ]; } || return
    for trainer in trainers/*; do
        ! ldd "$trainer" >/dev/null 2>&1 || return
        "$trainer" info | grep -q 'linked: static' || return
    done
    env -i PATH="$PATH" sh run.sh --threads 2
}

one_cell() {
    cd "$work/there/packed" && ends_with 2 'expected one of: own' sh run.sh none &&
        ends_with 0 '[1/1] parity' sh run.sh parity
}

goes_on() {
    cd "$work/there/packed" && rm -r runs/parity/*/lr*seed1 && sh run.sh && ls runs/parity/*/lr*seed1/eval.jsonl
}

comes_home() {
    mkdir -p "$work/home" && cp -R "$work/there/packed/runs/." "$work/home" &&
        cp "$work/there/packed/data/"*own.jsonl "$work/own.jsonl" &&
        ends_with 0 '4 of 4 runs done' ./longhand sweep status "$work/packed.lua" --out "$work/home" &&
        ends_with 0 'two cells' ./longhand report "$work/home" --out "$work/report"
}

same_bits() {
    ./longhand sweep "$work/packed.lua" --out "$work/local" >/dev/null 2>&1
    for run in "$work"/local/parity/*/lr*; do
        cmp "$run/checkpoint.safetensors" "$work/home/${run#"$work/local/"}/checkpoint.safetensors" || return
    done
}

cannot_be_written() {
    ends_with 4 'nothing was bundled' ./longhand bundle "$work/packed.lua" --levels "$level" --out /proc/none/x.tar.gz
}

if [ -n "$(make -s print-static-problem)" ]; then
    echo "skip bundle: $(make -s print-static-problem)"
else
    expect bundle_is_made bundles
    expect bundle_runs_there there
    expect bundle_one_cell one_cell
    expect bundle_goes_on goes_on
    expect bundle_comes_home comes_home
    expect bundle_same_bits same_bits
    expect bundle_cannot_be_written cannot_be_written
fi

finish
