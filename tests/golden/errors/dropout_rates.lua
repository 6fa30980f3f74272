-- Two rates of one embedding; weights that are not of a softmax; a rate of 1.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "geometric", additive = { kind = "sinusoid", dropout = 0.2 } },
  model = { embedding_dropout = 0.1, attention_dropout = 0.3, hidden_dropout = 1 },
}
