-- The evaluation of Duan and Shi 2024: up to 10000 numbers of each length from 1 to 50 digits, lengths of training
-- included, in the frame of training. As in the paper, the model decodes its own answers: eval.decoding is "greedy".
return {
  by = { digits = { 1, 50 } },
  order = "file",
  examples = 10000,
  novel = false,
}
