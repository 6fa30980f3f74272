-- A spec that wants to know the time.
local seed = os.time()
return {
  task = { kind = "bucket_sort" },
}
