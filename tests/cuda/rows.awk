# Converts the assembler's report (-v) to one row for each kernel; run and architecture are variables:
# run kernel architecture registers stack spill_stores spill_loads shared
# Spills are those of the kernel and of the functions that it calls; the stack is that of its deepest calls. Our kernels
# use only dynamic shared memory.
function finish() {
    if (kernel) print run, kernel, architecture, registers, stack, stores, loads, shared
    kernel = ""
}
/Compiling entry function/ {
    finish()
    split($0, part, "\047")
    kernel = part[2]
    sub(/^longhand_/, "", kernel)
    sub(/_.*/, "", kernel)
    registers = stack = stores = loads = shared = 0
}
/bytes stack frame/ {
    match($0, /[0-9]+ bytes spill stores/)
    split(substr($0, RSTART), n, /[^0-9]+/)
    stores += n[1]
    loads += n[2]
}
/Used [0-9]+ registers/ {
    match($0, /Used [0-9]+/)
    registers = substr($0, RSTART + 5, RLENGTH - 5) + 0
    if (match($0, /[0-9]+ bytes cumulative stack/)) stack = substr($0, RSTART) + 0
    if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART) + 0
}
END { finish() }
