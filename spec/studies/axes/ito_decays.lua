-- Weight decay of all parameters: without it AdamW is Adam.
return {
  { name = 0, spec = { train = { optimizer = { weight_decay = 0 } } } },
  { name = 0.1, spec = { train = { optimizer = { weight_decay = 0.1 } } } },
}
