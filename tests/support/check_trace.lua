-- A reader of safetensors in Lua, and checks of files of `trainer trace`.
--
--   lua5.4 tests/support/check_trace.lua tensors FILE              names, types, shapes; sorted
--   lua5.4 tests/support/check_trace.lua meta FILE KEY             one entry of the metadata
--   lua5.4 tests/support/check_trace.lua attention FILE            rows add up to 1 and are the softmax of the scores
--   lua5.4 tests/support/check_trace.lua mask FILE LEFT RIGHT      a query has scores and weights of LEFT keys before
--                                                                  it, itself and RIGHT keys after it, and no others
--   lua5.4 tests/support/check_trace.lua geometric FILE            rows add up to 1, with geometric weights of scores
--   lua5.4 tests/support/check_trace.lua mean FILE AVERAGED        AVERAGED has the means of FILE over its examples
--   lua5.4 tests/support/check_trace.lua inputs FILE               the source of every example, as predict reads it
--   lua5.4 tests/support/check_trace.lua exact FILE AVERAGED ANSWERS  AVERAGED has the means of FILE over the examples
--                                                                  for which ANSWERS, lines of predict, are right
--   lua5.4 tests/support/check_trace.lua same FILE OTHER           OTHER has all tensors of FILE, bit for bit
--
-- Float32 files only. Exit status 1 and a line for an error.

local json = require("dkjson")

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  local length = string.unpack("<I8", text)
  local header = assert(json.decode(text:sub(9, 8 + length)))
  local meta, names = header.__metadata__, {}
  header.__metadata__ = nil
  for name in pairs(header) do
    names[#names + 1] = name
  end
  table.sort(names)
  return { tensors = header, meta = meta, names = names, data = text:sub(9 + length) }
end

local function get_bytes(file, name)
  local offsets = file.tensors[name].data_offsets
  return file.data:sub(offsets[1] + 1, offsets[2])
end

local function unpack_numbers(file, name)
  local bytes, out = get_bytes(file, name), {}
  for i = 1, #bytes, 4 do
    out[#out + 1] = string.unpack("<f", bytes, i)
  end
  return out
end

local function check_near(a, b, label)
  assert(math.abs(a - b) <= 1e-6 * math.max(1, math.abs(b)), ("%s: %.9g, expected %.9g"):format(label, a, b))
end

local function check_row(attention, scores, first, count, name)
  local max_score, sum, total = -math.huge, 0, 0
  for j = first, first + count - 1 do
    max_score = math.max(max_score, scores[j])
    total = total + attention[j]
  end
  for j = first, first + count - 1 do
    sum = sum + math.exp(scores[j] - max_score)
  end
  check_near(total, 1, name .. " sum of a row")
  for j = first, first + count - 1 do
    check_near(attention[j], math.exp(scores[j] - max_score) / sum, name .. " weight " .. j)
  end
end

local commands = {}

function commands.tensors(path)
  local file = read(path)
  for _, name in ipairs(file.names) do
    local t = file.tensors[name]
    print(name, t.dtype, table.concat(t.shape, " "))
  end
end

function commands.meta(path, key)
  print(read(path).meta[key])
end

-- The weights of query i of T from its scores, and their sum. Keys are tried outwards from the query.
local function compute_geometric_row(scores, first, T, i)
  local order, weights, remaining, total = {}, {}, 1, 0
  for distance = 1, T do
    order[#order + 1] = i + distance < T and i + distance or nil
    order[#order + 1] = i - distance >= 0 and i - distance or nil
  end
  for _, j in ipairs(order) do
    local match = 1 / (1 + math.exp(-scores[first + j]))
    weights[j] = remaining * match
    remaining, total = remaining * (1 - match), total + weights[j]
  end
  return weights, total
end

function commands.geometric(path)
  local file, rows = read(path), 0
  for _, name in ipairs(file.names) do
    local place = name:match("^(.*)%.attention$")
    if place then
      local attention, scores = unpack_numbers(file, name), unpack_numbers(file, place .. ".scores")
      local T = file.tensors[name].shape[4]
      for row = 0, #attention // T - 1 do
        local first, i = row * T + 1, row % T
        local weights, total = compute_geometric_row(scores, first, T, i)
        assert(scores[first + i] == -math.huge and attention[first + i] == 0, name .. ": a token with itself")
        for j = 0, T - 1 do
          check_near(attention[first + j], (weights[j] or 0) / total, name .. " weight " .. j)
        end
        rows = rows + 1
      end
    end
  end
  assert(rows > 0, "no attention")
end

function commands.mask(path, left, right)
  local file, hidden = read(path), 0
  for _, name in ipairs(file.names) do
    local place = name:match("^(.*)%.attention$")
    if place then
      local attention, scores = unpack_numbers(file, name), unpack_numbers(file, place .. ".scores")
      local T = file.tensors[name].shape[#file.tensors[name].shape]
      for index = 1, #scores do
        local query, key = (index - 1) // T % T, (index - 1) % T
        local is_visible = key - query <= tonumber(right) and query - key <= tonumber(left)
        hidden = hidden + (is_visible and 0 or 1)
        assert(is_visible == (scores[index] > -math.huge),
          ("%s: the score of query %d, key %d"):format(name, query, key))
        assert(is_visible == (attention[index] > 0), ("%s: the weight of query %d, key %d"):format(name, query, key))
      end
    end
  end
  assert(hidden > 0, "no key is hidden")
end

function commands.attention(path)
  local file, checked = read(path), 0
  for _, name in ipairs(file.names) do
    local place = name:match("^(.*)%.attention$")
    if place then
      local attention, scores = unpack_numbers(file, name), unpack_numbers(file, place .. ".scores")
      local shape = file.tensors[name].shape
      for first = 1, #attention, shape[#shape] do
        check_row(attention, scores, first, shape[#shape], name)
        checked = checked + 1
      end
    end
  end
  assert(checked > 0, "no attention in " .. path)
end

function commands.mean(path, averaged)
  local examples, mean = read(path), read(averaged)
  for _, name in ipairs(mean.names) do
    if not name:find("entropy") then -- entropies are means over passes in both files; a pass: an example in a draw
      local all_passes, means = unpack_numbers(examples, name), unpack_numbers(mean, name)
      local passes = #all_passes // #means
      assert(passes > 1, name .. ": one example alone")
      for i = 1, #means do
        local sum = 0
        for p = 0, passes - 1 do
          sum = sum + all_passes[p * #means + i]
        end
        check_near(means[i], sum / passes, name .. " element " .. i)
      end
    end
  end
end

-- The tokens of one stream, example by example, and its length.
local function read_stream(file, stream)
  for _, name in ipairs(file.names) do
    if name:find("tokens." .. stream, 1, true) then
      local bytes, out = get_bytes(file, name), {}
      for i = 1, #bytes, 4 do
        out[#out + 1] = string.unpack("<i4", bytes, i)
      end
      return out, file.tensors[name].shape[2]
    end
  end
end

function commands.inputs(path)
  local file = read(path)
  local tokens, length = read_stream(file, "source")
  local _, outputs = read_stream(file, "target")
  for first = 1, #tokens, length do
    print(('{"input":[%s],"outputs":%d}'):format(table.concat(tokens, ",", first, first + length - 1), outputs))
  end
end

-- The indices, from 0, of the examples whose answers equal the decoder's targets, and the number of all examples.
-- Fails if no example is exact, or if all are.
local function list_exact_examples(file, answers)
  local target, length = read_stream(file, "target")
  local indices, count = {}, 0
  for line in io.lines(answers) do
    local argmax, is_right = json.decode(line).argmax, true
    for i = 2, length do
      is_right = is_right and argmax[i - 1] == target[count * length + i]
    end
    indices[#indices + 1] = is_right and count or nil
    count = count + 1
  end
  assert(#indices > 0 and #indices < count, ("%d of %d are exact"):format(#indices, count))
  return indices, count
end

function commands.exact(path, averaged, answers)
  local examples, mean = read(path), read(averaged)
  local exact_indices, example_count = list_exact_examples(examples, answers)
  assert(mean.meta.exact == ("%d/%d"):format(#exact_indices, example_count), "exact " .. mean.meta.exact)
  for _, name in ipairs(mean.names) do
    local all_examples, means = unpack_numbers(examples, name), unpack_numbers(mean, name)
    for i = 1, #means do
      local sum = 0
      for _, index in ipairs(exact_indices) do
        sum = sum + all_examples[index * #means + i]
      end
      check_near(means[i], sum / #exact_indices, name .. " element " .. i)
    end
  end
end

function commands.same(path, other_path)
  local a, b = read(path), read(other_path)
  for _, name in ipairs(a.names) do
    assert(b.tensors[name], name .. " is not there")
    assert(get_bytes(a, name) == get_bytes(b, name), name .. " differs")
  end
end

local ok, err = pcall(commands[arg[1]], table.unpack(arg, 2))
if not ok then
  print(err)
  os.exit(1)
end
