-- A decoder with positions of digits in their numbers and a norm of the embedding (tests/unit/test_decoding.c). Inputs and outputs have alphabets of
-- their own; the separator ends the number of the input.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "learned", positions = { kind = "digits", max_position = 60, offset = 20 } },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { embedding = true } },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
