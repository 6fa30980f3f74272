-- Facets of families of attentions that the model does not have.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    kind = "rope",
    cross = { rotation = { kind = "none" } },
    decoder = { mask = { kind = "causal" } },
    encoder = {},
  },
  train = { lengths = { 1, 40 } },
  eval = { lengths = { 41, 100 } },
}
