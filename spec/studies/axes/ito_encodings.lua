-- The encodings of Ito et al. 2024, in the order of their table. If fixed vectors are added to the inputs, the paper's
-- code applies dropout to the sum, also in evaluation.
return {
  { name = "2d-fixed", spec = { encoding = { kind = "lst_2d" }, eval = { dropout = true } } },
  { name = "learn-0.2", spec = { encoding = { kind = "lst_learned", additive = { init_sigma = 0.2 } } } },
  { name = "relative", spec = { encoding = { kind = "lst_relative" } } },
  { name = "random", spec = { encoding = { kind = "lst_random" } } },
  { name = "rope", spec = { encoding = { kind = "lst_rope" } } },
  { name = "1d-fixed", spec = { encoding = { kind = "lst_1d" }, eval = { dropout = true } } },
  { name = "nope", spec = { encoding = { kind = "lst_nope" } } },
  { name = "c-nope", spec = { encoding = { kind = "lst_cnope" } } },
}
