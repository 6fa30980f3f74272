-- Compares similarity.csv with two traces: lua5.4 check_similarity.lua A.safetensors B.safetensors CSV NAME_A NAME_B
-- LENGTH STEP. NAME_A and NAME_B: what CSV calls the models of traces A and B.

package.path = "generator/?.lua;?.lua;" .. package.path

local safetensors = require("base.safetensors")
local trace_sites = require("lab.study.read.trace_sites")

local first, second = assert(safetensors.open(arg[1])), assert(safetensors.open(arg[2]))
local first_name, second_name, length, step = arg[4], arg[5], math.tointeger(tonumber(arg[6])), arg[7]

local function compute_entropy(row, from, keys)
  local sum = 0
  for key = 0, keys - 1 do
    local p = row[from + key]
    sum = sum - (p > 0 and p * math.log(p) or 0)
  end
  return sum
end

-- Sums over a layer: products, squares, divergences, and the number of rows.
local function sum_layer(site)
  local tensor = ("n%d.%s.attention"):format(length, site)
  local a, shape = safetensors.read(first, tensor)
  local b = safetensors.read(second, tensor)
  local sums, keys, mixed = { product = 0, a = 0, b = 0, divergence = 0, rows = #a // shape[4] }, shape[4], {}
  for i = 1, #a do
    sums.product, sums.a, sums.b = sums.product + a[i] * b[i], sums.a + a[i] ^ 2, sums.b + b[i] ^ 2
    mixed[i] = (a[i] + b[i]) / 2
  end
  for from = 1, #a, keys do
    local mean_entropy = (compute_entropy(a, from, keys) + compute_entropy(b, from, keys)) / 2
    sums.divergence = sums.divergence + compute_entropy(mixed, from, keys) - mean_entropy
  end
  return sums
end

local expected_lines, total = {}, { product = 0, a = 0, b = 0, divergence = 0 }
local sites = trace_sites(first, length, "attention")
for i, site in ipairs(sites) do
  local sums = sum_layer(site)
  expected_lines[tostring(i - 1)] = { sums.product / math.sqrt(sums.a * sums.b), sums.divergence / sums.rows }
  total.product, total.a, total.b = total.product + sums.product, total.a + sums.a, total.b + sums.b
  total.divergence = total.divergence + sums.divergence / sums.rows / #sites
end
expected_lines.all = { total.product / math.sqrt(total.a * total.b), total.divergence }

local line_count = 0
for line in io.lines(arg[3]) do
  local a, b, step_read, layer, pair_count, cosine, divergence =
    line:match("^([^,]*),([^,]*),(%a+),(%w+),(%d+),([^,]+),[^,]*,([^,]+)")
  if step_read == step and (a == first_name and b == second_name or a == second_name and b == first_name) then
    local expected = expected_lines[layer]
    assert(pair_count == "1" and math.abs(cosine - expected[1]) < 1e-6 and math.abs(divergence - expected[2]) < 1e-6,
      ("%s\n  expected: %.9g and %.9g"):format(line, expected[1], expected[2]))
    line_count = line_count + 1
  end
end
assert(line_count == #sites + 1, "lines seen: " .. line_count)
