-- A warm-up that leaves no step to fall, and steps of another file.
return { task = { kind = "bucket_sort" }, train = { use = "quick", schedule = { kind = "linear", warmup = 1000 } } }
