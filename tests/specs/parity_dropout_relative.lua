-- Dropout everywhere: of attention's weights, of hidden numbers, of the embedding without an encoding, of the branches;
-- compared with kernels/ref, which draws the same bits (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "relative" },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    attention_dropout = 0.3, hidden_dropout = 0.2, embedding_dropout = 0.15 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
