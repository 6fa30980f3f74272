-- Random numbers that are equal on every machine: splitmix64.
--
-- Input: an integer. Output: an object that gives integers, items of lists, and chances.

local Random = {}
Random.__index = Random

function Random:next()
  self.state = self.state + 0x9e3779b97f4a7c15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return z ~ (z >> 31)
end

-- An integer from 1 to n.
function Random:below(n)
  return (self:next() >> 1) % n + 1
end

function Random:pick(list)
  return list[self:below(#list)]
end

function Random:chance(one_in)
  return self:below(one_in) == 1
end

return function(seed)
  return setmetatable({ state = seed }, Random)
end
