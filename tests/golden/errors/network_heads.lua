-- A network of one's own has heads that divide the width, as any other.
return {
  task = { kind = "bucket_sort" },
  model = { source = "../networks/plain.lua", heads = 5, width = 64, options = { ["two words"] = 1, kind = "a b" } },
}
