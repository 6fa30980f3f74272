% call("copy_rows", "all_rows()", from, to)
