% call("add_branch", rows, to, from, to)
