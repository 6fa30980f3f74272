-- The text that is generated for random networks (networks.lua), and for minimal networks that once failed. Each random
-- network is rendered for CPU and GPU, or refused with a reason, and no name is defined twice. No compiler runs here:
-- tests/unit/test_random.c and tests/emulation/test_random.c check the results of such networks.

local support = dofile("tests/lua/support.lua")
package.path = "tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- changes a module that the following modules load
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local write = require("base.write")

local NETWORKS = tonumber(os.getenv("LH_NETWORKS")) or 5 -- number of narrow networks, and of wide ones

local function render_files(plan)
  return support.index_texts(assert(project:render_files(plan, plan.device and true)))
end

-- Renders a spec with the network that `describe` describes in place of the encoder. encoding, eval: texts of the
-- fields of these sections. Returns the plan and the files' texts by name.
local function render(describe, encoding, width, eval)
  local plan
  random_specs.call_with_description(describe, function()
    local path = support.write("network.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { %s }, train = { lengths = { 1, 18 } }, eval = { %s },
  model = { layers = 2, heads = 2, width = %d, feedforward = 32, dropout = 0 } }
]]):format(encoding or 'kind = "none"', eval or "", width or 16))
    plan = assert(project:plan(path)).plan
  end)
  return plan, render_files(plan)
end

-- ---- names that are defined twice ----

local function remove_comments(text)
  return (text:gsub("/%*.-%*/", ""))
end

local function add_once(known_names, name, place)
  lu.assertNil(known_names[name], ("%s: %s is defined twice"):format(place, name))
  known_names[name] = true
end

-- Checks the names of functions, whose definitions begin in column 1. known_names: the names so far.
local function check_functions(text, place, known_names)
  for line in remove_comments(text):gmatch("[^\n]+") do
    local name = line:match("^[%a][%w_ %*]-([%w_]+)%(")
    if name and not line:find(";", 1, true) and not line:find("^extern") and not line:find("^typedef")
      and not line:find("^struct") then
      add_once(known_names, name, place)
    end
  end
end

local function check_members(text, place)
  for body, struct in remove_comments(text):gmatch("typedef struct [%w_]+ {\n(.-)\n} ([%w_]+);") do
    local known_members = {}
    for name in body:gsub("%b[]", ""):gmatch("([%w_]+)%s*[,;]") do
      add_once(known_members, name, place .. ": struct " .. struct)
    end
  end
end

local function check_constants(text, place, known_names)
  for name in remove_comments(text):gmatch("\n%s*([%u][%u%d_]+) = ") do
    add_once(known_names, name, place)
  end
  for name in text:gmatch("\nstatic const %w+ ([%u][%u%d_]+) = ") do
    add_once(known_names, name, place)
  end
end

local KERNELS = {} -- the names of all functions of kernels/cpu, as a set

for _, name in ipairs(write.list_names("kernels/cpu")) do
  if name:find("%.h$") then
    for line in remove_comments(support.read("kernels/cpu/" .. name)):gmatch("[^\n]+") do
      KERNELS[line:match("^[%a][%w_ %*]-([%w_]+)%(") or ""] = true
    end
  end
end

-- Returns the names of step.c and of the files that it includes. texts: the texts of generated files by name.
local function list_cpu_files(texts)
  local list = { "step.c" }
  for path in pairs(texts) do
    list[#list + 1] = path ~= "defaults.inc" and path:match("^.*%.inc$") or nil
  end
  return list
end

local function check_names(texts, place)
  local known_functions, constants = lists.copy(KERNELS), {}
  for _, path in ipairs(list_cpu_files(texts)) do
    check_functions(texts[path], place .. " " .. path, known_functions)
    check_members(texts[path], place .. " " .. path)
    check_constants(texts[path], place .. " " .. path, constants)
  end
  if texts["device.cu"] then
    check_functions(texts["device.cu"], place .. " device.cu", {})
    check_members(texts["device.cu"], place .. " device.cu")
    check_constants(texts["device.cu"], place .. " device.cu", {})
  end
end

TestRandom = {}

local function check_random(id)
  random_specs.call_with_plan(project, id, support.write(id .. "/note", ""):match("^(.*)/"), function(plan)
    check_names(render_files(plan), id)
    if plan.no_device_code then
      local files, message = project:render_files(plan, true)
      lu.assertNil(files)
      lu.assertStrContains(message, "there is no device code for " .. plan.no_device_code.what)
      lu.assertStrContains(message, "expected: --target cpu")
    end
  end)
end

function TestRandom.test_random_networks_are_rendered_or_refused_with_a_reason()
  for number = 1, NETWORKS do
    check_random("random_" .. number)
    check_random("random_wide_" .. number)
  end
end

TestNames = {}

local function describe_embedded(f)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 4, place = net.additive, dropout = 0.1 })
    net:classify(net:readout(f(net, x), "last"))
  end
end

-- Describes a block of this name that begins with an attention and a sum. follow(block, sum) describes the rest of the
-- block and returns the output of the block.
local function describe_attention(name, follow)
  return describe_embedded(function(net, x)
    local b = net:block(name, 2, "A block.")
    local h = b:input(x)
    b:output(follow(b, b:add(h, b:attention("self", h, h))))
    return b.result
  end)
end

-- The constant of the number of layers is named after the block, so there is no LAYERS in the code.
function TestNames.test_no_constant_is_named_layers_if_the_block_is_named_stage()
  for _, encoding in ipairs({ 'kind = "relative"', 'relative = { kind = "shaw", clip = 4 }', 'kind = "alibi_learned"',
    'kind = "geometric"' }) do
    for _, width in ipairs({ 16, 256 }) do
      local _, texts = render(describe_attention("stage", function(b, s)
        return b:norm("norm1", s)
      end), encoding, width)
      for path, text in pairs(texts) do
        lu.assertNil(text:find("%f[%w_]LAYERS%f[^%w_]"), encoding .. " " .. path)
      end
    end
  end
end

function TestNames.test_a_block_s_input_has_the_name_of_an_inner_value()
  local _, texts = render(describe_embedded(function(net, x)
    local b = net:block("layer", 2, "A block.")
    local sum = net:add(x, net:product("map", x, 16)) -- sum1 of the network
    local h = b:input(sum)
    local inner = b:add(h, b:attention("self", h, h)) -- sum1 of the block
    b:output(b:add(inner, b:norm("norm1", inner)))
    return b.result
  end))
  check_names(texts, "names inside and outside")
end

function TestNames.test_values_named_like_kernels_get_other_names()
  local _, texts = render(describe_attention("layer", function(b, s)
    local y = b:product("layer_norm", b:product("gelu", s, 16), 16, { bias = true })
    local z = b:add(b:activation("tanh", y, "gelu"), b:product("residual_norm", b:norm("norm1", s), 16), 0.1)
    return b:add(b:add(s, z, 0.2), b:product("drop", z, 16), 0.3)
  end))
  check_names(texts, "names of functions")
end

-- Unused functions, which compilers would refuse, are left out of device code. A value called layer_norm does not count
-- as a use of the function layer_norm: only a norm of kind "layer" calls it.
function TestNames.test_a_value_is_no_call_of_the_kernel_of_its_name()
  for kind, is_called in pairs({ layer = true, rms = false }) do
    local _, texts = render(describe_attention("layer", function(b, s)
      return b:norm("norm1", b:product("layer_norm", s, 16), kind)
    end))
    lu.assertEquals(texts["device.cu"]:find("NOINLINE void layer_norm(", 1, true) ~= nil, is_called, kind)
  end
end

-- Each rate of dropout has a constant, named after the first value with this rate; a used name gets a number.
function TestNames.test_dropouts_of_one_name_may_have_several_rates()
  local plan, texts = render(describe_embedded(function(net, x)
    local b = net:block("layer", 2, "A block.")
    local h, input_again = b:input(net:norm("norm1", x)), b:external(x)
    local s = b:add(b:add(h, b:attention("self", h, h), 0.1), input_again, 0.2)
    b:output(b:add(s, input_again, 0.3))
    return b.result
  end))
  lu.assertEquals(lists.get_names(plan.dropouts), { "BRANCH", "EMBEDDING", "EMBEDDING_2", "EMBEDDING_3" })
  check_names(texts, "rates")
end

-- The address of each array takes 8 bytes of shared memory.
function TestNames.test_addresses_of_many_arrays_are_counted_in_shared_memory()
  local few_arrays, many_arrays
  few_arrays = render(describe_attention("layer", function(b, s)
    return b:norm("norm1", s)
  end))
  many_arrays = render(describe_attention("layer", function(b, s)
    for i = 1, 30 do
      s = b:norm("norm" .. i, b:add(s, b:product("map" .. i, s, 16)))
    end
    return s
  end))
  lu.assertEquals(few_arrays.cuda.block_state, 1024)
  lu.assertTrue(many_arrays.cuda.block_state >= 512 + 8 * #many_arrays.device.blocks[1].members)
end

-- Factors of one and differences of zero are not printed.
function TestNames.test_operations_without_effect_are_not_printed()
  local plan, texts = render(describe_attention("layer", function(b, s)
    return b:norm("norm1", b:add(s, b:product("map", s, 16), 0.1))
  end), 'kind = "none", mask = { kind = "causal" }', 16, "dropout = true")
  lu.assertEquals({ plan.cpu.max_dropouts, plan.device.max_dropouts }, { 1, 1 })
  for _, path in ipairs({ "step.c", "layers.inc", "device.cu" }) do
    lu.assertNotStrContains(texts[path], "1 * layer")
  end
  lu.assertStrContains(texts["device.cu"], "INLINE int first_query(int j) { return j; }")
end

-- A stream that is embedded twice has two functions, each with its own scale.
function TestNames.test_a_stream_may_have_two_embeddings()
  for _, width in ipairs({ 16, 256 }) do
    local plan, texts = render(function(net)
      local source, tokens = net:stream("source"), net:table("token")
      local x = net:embed("embedding", source, { table = tokens, scale = 4, place = net.additive })
      local again = net:embed("again", source, { table = tokens, scale = 2, place = net.additive })
      local b = net:block("layer", 2, "A block.")
      local h, outer_value = b:input(x), b:external(again)
      b:output(b:norm("norm1", b:add(b:add(h, b:attention("self", h, h)), outer_value)))
      net:classify(net:readout(b.result, "last"))
    end, 'kind = "learned", additive = { rows = 40 }', width, "lengths = { 1, 18 }")
    check_names(texts, "embeddings")
    lu.assertEquals({ plan.embedding_scales[1].value, plan.embedding_scales[2].value }, { 4, 2 })
    for _, path in ipairs({ "layers.inc", "device.cu" }) do
      for name, scale in pairs({ embed = "EMBEDDING_SCALE", embed_2 = "EMBEDDING_SCALE_2" }) do
        lu.assertStrMatches(texts[path], ".* " .. name .. "%(.-" .. scale .. "[; ].*")
      end
    end
    lu.assertStrContains(texts["device.cu"], "block()->sums.places[e] = sum;")
    lu.assertStrContains(texts["device.cu"], "block()->sums.places[e] += sum;")
  end
end

-- Gradients of position vectors are summed only for streams to which they are added.
function TestNames.test_sums_of_positions_are_those_of_placed_streams()
  local plan
  random_specs.call_with_description(function(net)
    local source, target, tokens = net:stream("source"), net:stream("target"), net:table("token")
    local memory = net:embed("memory", source, { table = tokens })
    local x = net:embed("embedding", target, { table = tokens, place = net.additive })
    local b = net:block("layer", 2, "A block.")
    local h, outer_value = b:input(x), b:external(memory)
    local s = b:norm("norm1", b:add(h, b:attention("decoder", h, h)))
    b:output(b:norm("norm2", b:add(s, b:attention("cross", s, outer_value))))
    net:classify(net:readout(b.result, "last"))
  end, function()
    local path = support.write("pair.lua", [[
return { task = { kind = "bucket_sort" }, encoding = { kind = "learned", additive = { rows = 40 } },
  train = { lengths = { 1, 18 } }, eval = { lengths = { 1, 18 } },
  model = { kind = "encoder_decoder", heads = 2, width = 16, feedforward = 32, dropout = 0 } }
]])
    plan = assert(project:plan(path)).plan
  end)
  lu.assertEquals(#plan.device.place_sums, 1)
  lu.assertEquals(plan.device.place_sums[1].member, "target_places")
  lu.assertEquals({ plan.attentions[1].name, plan.attentions[2].name }, { "decoder", "cross" })
end

TestPlaces = {}

-- Returns the error of a network whose block has `layers` layers with `places` dropouts each, or nil.
local function find_dropout_problem(places, layers)
  local is_ok, problem = pcall(render, describe_embedded(function(net, x)
    local b = net:block("layer", layers, "A block.")
    local h = b:input(x)
    local s = b:norm("norm1", b:add(h, b:attention("self", h, h)))
    for _ = 1, places do
      s = b:add(s, h, 0.1)
    end
    b:output(b:norm("norm2", s))
    return b.result
  end), nil, nil, "dropout = true")
  return not is_ok and tostring(problem) or nil
end

-- The random numbers of a dropout depend on the index of its place. This index has few bits, so the number of places is
-- limited.
function TestPlaces.test_too_many_places_are_refused()
  lu.assertNil(find_dropout_problem(4, 63))
  lu.assertStrContains(find_dropout_problem(4, 64), "4 dropouts in each of 65 layers")
  lu.assertStrContains(find_dropout_problem(257, 1), "block layer has 257 dropouts")
end

support.run()
