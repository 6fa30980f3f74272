-- ALiBi with slopes that are learned, one per head, from the constant ones on.
return { use = "alibi", parameters = { slope = { init = "alibi_slopes" } } }
