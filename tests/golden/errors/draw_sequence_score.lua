-- A score of distances where every sequence has positions of its own.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "alibi", additive = { kind = "sinusoid" }, positions = { kind = "randomized", draw = "sequence" } },
}
