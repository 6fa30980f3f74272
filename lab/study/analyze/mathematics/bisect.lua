-- Bisection: the number at which a predicate stops being true.
--
-- Input: low and high, numbers from 0 on; is_below, a predicate that is true at low and false at high. Output: the
-- number between low and high at which the predicate changes, exact to the last bit.

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
