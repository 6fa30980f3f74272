local n = 3
return { task = { kind = f"bucket_{n}" } }
