-- The encodings of Ruoss et al. 2023, by the paper's names.
local random = { kind = "randomized", max_position = 2048 }

return {
  { name = "none", spec = { encoding = { kind = "none" } } },
  { name = "sincos", spec = { encoding = { kind = "sinusoid" } } },
  { name = "relative", spec = { encoding = { kind = "relative" } } },
  { name = "alibi", spec = { encoding = { kind = "alibi" } } },
  { name = "rope", spec = { encoding = { kind = "rope" } } },
  { name = "learned", spec = { encoding = { kind = "learned" } } },
  { name = "rand-sincos", spec = { encoding = { kind = "sinusoid", positions = random } } },
  { name = "rand-relative", spec = { encoding = { kind = "relative", positions = random } } },
  { name = "rand-alibi", spec = { encoding = { kind = "alibi", positions = random } } },
  { name = "rand-rope", spec = { encoding = { kind = "rope", positions = random } } },
  { name = "rand-learned", spec = { encoding = { kind = "learned", positions = random } } },
  { name = "rand-sincos-unsorted", spec = { encoding = { kind = "sinusoid", positions = { kind = "randomized",
    max_position = 2048, sorted = false } } } },
  { name = "geometric", spec = { encoding = { kind = "geometric" } } },
}
