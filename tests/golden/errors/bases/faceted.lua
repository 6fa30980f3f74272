return { encoding = { kind = "alibi", rotation = { kind = "rope" } } }
