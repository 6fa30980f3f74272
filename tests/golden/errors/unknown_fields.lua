-- Misspelt names at every depth.
return {
  tsk = { kind = "bucket_sort" },
  task = { kind = "bucket_srot" },
  encoding = { adition = { kind = "sinusoid" }, bias = function(x) return x.score end },
  train = { use = "quick", learningrate = 1e-3, optimizer = { kind = "adam", beta = 0.9 } },
}
