% call("copy_rows", rows, from, to)
