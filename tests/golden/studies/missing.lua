return { base = 3 }
