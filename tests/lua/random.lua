-- Random numbers that are equal on every machine: splitmix64.
--
-- Input: a seed, an integer. Output: an object with the following methods.

local Random = {}
Random.__index = Random

-- Returns any 64-bit integer.
function Random:next()
  self.state = self.state + 0x9e3779b97f4a7c15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return z ~ (z >> 31)
end

-- Returns an integer from 1 to n.
function Random:pick_number(n)
  return (self:next() >> 1) % n + 1
end

-- Returns an item of a list.
function Random:pick(list)
  return list[self:pick_number(#list)]
end

-- Returns true with a probability of 1 / one_in.
function Random:is_one_in(one_in)
  return self:pick_number(one_in) == 1
end

return function(seed)
  return setmetatable({ state = seed }, Random)
end
