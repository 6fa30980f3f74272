-- The evaluation of Duan and Shi 2024: numbers of 1 to 50 digits in the frame of training, up to 10000 of each,
-- those trained on among them. As theirs, answers are the model's own: eval.decoding is "greedy".
return {
  by = { digits = { 1, 50 } },
  order = "file",
  examples = 10000,
  novel = false,
}
