-- Vectors of the signed distance in the logit (Dai et al. 2019, Transformer-XL, to both sides; Ruoss et al. 2023).
return {
  relative = { kind = "transformer_xl" },
}
