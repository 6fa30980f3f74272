-- Rotary encoding with a larger base: pairs of channels that rotate slowly become slower, fast pairs hardly change
-- (NTK-aware: bloc97 2023).
--
-- Described in Peng et al. 2024, "YaRN", arXiv:2309.00071, section 3.1.
return {
  rotation = { kind = "rope", base = 10000, scaling = { kind = "ntk", factor = 4 } },
}
