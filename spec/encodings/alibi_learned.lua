-- ALiBi with one learned slope per head; slopes start at the constants of `alibi`.
return { use = "alibi", parameters = { slope = { init = "alibi_slopes" } } }
