-- Bisection: where a predicate of a number, true at `low` and false at `high`, changes.
--
-- Input: low and high, numbers from 0 on; the predicate. Output: the number between low and high, to the last bit.

return function(low, high, is_below)
  while true do
    local middle = low + (high - low) / 2
    if middle <= low or middle >= high then
      return middle
    elseif is_below(middle) then
      low = middle
    else
      high = middle
    end
  end
end
