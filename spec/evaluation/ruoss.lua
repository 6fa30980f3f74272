-- The evaluation of Ruoss et al. 2023: every length from 41 to 500, all beyond the training lengths, without
-- validation.
return {
  lengths = { 41, 500 },
  examples = 500,
  draws = 1,
  validation = { examples = 0 },
}
