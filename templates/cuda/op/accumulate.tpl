% call("add_branch", "all_rows()", to, from, to)
