-- Standard deviations of the initial values of learned tables: 0.01, 0.05, and 0.1 to 2 in steps of 0.1.
local function make_value(sigma)
  return { name = sigma, spec = { encoding = { additive = { init_sigma = sigma } } } }
end

local values = { make_value(0.01), make_value(0.05) }
for i = 1, 20 do
  values[i + 2] = make_value(i / 10)
end

return values
