-- The evaluation of Duan and Shi 2024: up to 10000 numbers for each number of digits from 1 to 50, in the frame of
-- training. Numbers that are also training examples count, too. As in the paper, each answer follows the model's own
-- earlier answers (eval.decoding is "greedy").
return {
  by = { digits = { 1, 50 } },
  order = "file",
  examples = 10000,
  novel = false,
}
