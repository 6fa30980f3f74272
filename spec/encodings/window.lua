-- Keys more than width tokens away lose so much of their score that softmax all but forgets them.
--
-- The window of Duan & Shi 2024 (|i - j| <= w) as a score. Theirs is minus infinity outside, which only a mask can be:
-- here a row that sees nothing inside its window attends as it would without one.
return {
  score = function(x)
    return x.score - select(less_equal(abs(x.distance), x.width), 0, 1e4)
  end,
  parameters = { width = 8 },
}
