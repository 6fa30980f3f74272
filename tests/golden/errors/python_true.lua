return { task = { kind = "bucket_sort" }, train = { steps = True } }
