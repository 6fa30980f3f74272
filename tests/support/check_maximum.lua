-- lua5.4 tests/support/check_maximum.lua TRACE MATRICES CSV: checks MATRICES and CSV against TRACE. For each layer,
-- query and key, both must hold the largest weight over the heads. They show the first 5 tokens of TRACE's second
-- example. Exit status 1 and a line for a difference.

package.path = "generator/?.lua;?.lua;" .. package.path

local safetensors = require("base.safetensors")

local CROP, EXAMPLE = 5, 1

local function check()
  local trace, matrices = assert(safetensors.open(arg[1])), assert(safetensors.open(arg[2]))
  local lines = io.lines(arg[3])
  assert(lines() == "run,length,layer,query,key,weight")
  for _, length in ipairs({ 4, 8 }) do
    for layer = 0, 1 do
      local weights, shape = safetensors.read(trace, ("n%d.layers.%d.attention"):format(length, layer))
      local actual = assert(safetensors.read(matrices, ("run1.n%d.layers.%d"):format(length, layer)))
      local heads, tokens = shape[2], shape[3]
      assert(#actual == CROP * CROP)
      for query = 0, CROP - 1 do
        for key = 0, CROP - 1 do
          local max_weight = 0
          for head = 0, heads - 1 do
            max_weight = math.max(max_weight, weights[(((EXAMPLE * heads + head) * tokens) + query) * tokens + key + 1])
          end
          local place = ("drawn,%d,%d,%d,%d,"):format(length, layer, query, key)
          assert(actual[query * CROP + key + 1] == max_weight, place .. " in the matrices")
          assert(lines() == place .. ("%.5g"):format(max_weight), place .. " in the table")
        end
      end
    end
  end
end

local succeeded, message = pcall(check)
if not succeeded then
  print(message)
  os.exit(1)
end
