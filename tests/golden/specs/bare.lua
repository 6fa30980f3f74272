-- A task and nothing else.
return { task = { kind = "bucket_sort" } }
