-- A scaling without its factor, with a field of another kind.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope", rotation = { scaling = { kind = "ntk", original_length = 41 } } },
}
