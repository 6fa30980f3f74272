-- The evaluation of Ruoss et al. 2023: every length beyond the training lengths, and no others.
return {
  lengths = { 41, 500 },
  examples = 500,
  draws = 1,
  validation = { examples = 0 },
}
