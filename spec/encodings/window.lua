-- The scores of keys more than `width` tokens away are lowered so much that softmax gives these keys almost no weight.
--
-- This is the window of Duan & Shi 2024 (|i - j| <= w) as a score. Their score outside the window is minus infinity,
-- which only a mask can express. Here a query that sees no key inside its window attends as it would without a window.
return {
  score = function(x)
    return x.score - select(less_equal(abs(x.distance), x.width), 0, 1e4)
  end,
  parameters = { width = 8 },
}
