-- Device code of products by warps (device_products = "warps"), compared with products by tiles: calls, rounding,
-- memory and digests. tests/emulation tests the results.

local support = dofile("tests/lua/support.lua")

local device_code = require("device_code")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local plans = require("plans")

local find_choice = device_code.find_choice

local ENCODINGS = { "none", "learned", "rope", "relative", "shaw", "alibi_learned", "geometric" }
-- Names that only the code of products by tiles has, and names that only the code of products by warps has.
local TILE_NAMES = { "product_tiles", "SLAB", "stage_rows", "write_results" }
local WARP_NAMES = { "sized_product", "multiply_rows", "store_pair", "operand_word" }

local function make_plan(encoding, kernel, precision, model)
  local fields_text = ", encoding = { kind = %q }, precision = %q, device_products = %q, model = { %s }"
  return plans.plan_task("kind = 'bucket_sort'", fields_text:format(encoding, precision or "tf32", kernel, model or ""))
end

local function render_device(plan)
  local files = assert(gen.render_files(plan, device_code.read_template, {}, true))
  return support.index_texts(files)["device.cu"]
end

TestWarpProducts = {}

function TestWarpProducts.test_device_code_has_nothing_of_the_other_kernel()
  for _, encoding in ipairs(ENCODINGS) do
    local tiles, warps = render_device(make_plan(encoding, "tiles")), render_device(make_plan(encoding, "warps"))
    for i, name in ipairs(TILE_NAMES) do
      lu.assertStrContains(tiles, name, nil, nil, encoding)
      lu.assertNotStrContains(warps, name, nil, nil, encoding)
      lu.assertNotStrContains(tiles, WARP_NAMES[i], nil, nil, encoding)
      lu.assertStrContains(warps, WARP_NAMES[i], nil, nil, encoding)
    end
  end
end

-- Patterns of the names of functions for certain sizes, each with the name that list_calls returns instead.
local SHORT_NAMES = { { "^product_.*_to_.*_grad$", "product_backward" }, { "^product_.*_to_.*", "product_forward" } }

-- The names of the products and chains (several products in one function) that a layer calls in training, as one text.
local function list_calls(plan)
  local names = {}
  for _, list in ipairs({ plan.device.blocks[1].forward, plan.device.blocks[1].backward }) do
    for _, record in ipairs(list) do
      local routine = record.condition ~= "else" and record.routine or ""
      local name = lists.find(SHORT_NAMES, function(candidate) return routine:match(candidate[1]) end)
      names[#names + 1] = name and name[2] or routine:match("^chain_.*") or routine:match("^product_.*")
    end
  end
  return table.concat(names, " ")
end

function TestWarpProducts.test_feedforward_layers_are_chains()
  for activation, name in pairs({ relu = "relu", gelu = "gelu", gelu_tanh = "gelu_tanh", silu = "silu",
    swiglu = "silu_gate", geglu = "gelu_gate" }) do
    for _, more_fields in ipairs({ "", ", bias = 'none'", ", dropout = 0", ", norm = { place = 'pre' }" }) do
      local fields = ("activation = %q"):format(activation) .. more_fields
      lu.assertEquals(list_calls(make_plan("none", "warps", "tf32", fields)),
        ("product_forward product_forward chain_%s chain_%s_grad product_backward product_backward"):format(name,
          name), activation .. more_fields)
    end
  end
end

function TestWarpProducts.test_hidden_values_that_are_dropped_out_stay_in_memory()
  local dropped = make_plan("none", "warps", "tf32", "hidden_dropout = 0.1")
  lu.assertEquals(list_calls(dropped), ("product_forward "):rep(4) .. ("product_backward "):rep(4):sub(1, -2))
  lu.assertNotStrContains(render_device(dropped), "CHAIN")
  lu.assertNotStrContains(render_device(make_plan("none", "tiles")), "chain_")
end

-- In evaluation, functions store nothing and round the weights that they read.
function TestWarpProducts.test_functions_of_training_and_of_evaluation_differ()
  local text = render_device(make_plan("none", "warps"))
  for _, name in ipairs({ "product_width_to_3_width", "product_width_to_width", "chain_relu" }) do
    local training_parameters = text:match("void " .. name .. "(%b()) %b{}")
    local evaluation_parameters = text:match("void " .. name .. "_in_evaluation(%b()) %b{}")
    lu.assertStrContains(training_parameters, "real *stored_")
    lu.assertNotStrContains(evaluation_parameters, "stored_")
  end
  local function read_rounded(name) -- whether x and the weight are rounded where they are stored
    return { text:match(name .. "%b() (%b{})"):match("sized_product%((%w+), (%w+)") }
  end
  lu.assertEquals(read_rounded("product_width_to_3_width"), { "false", "true" })
  lu.assertEquals(read_rounded("product_width_to_width"), { "true", "true" })
  lu.assertEquals(read_rounded("product_width_to_width_in_evaluation"), { "true", "false" })
  lu.assertEquals(read_rounded("product_width_to_width_grad"), { "true", "true" })
  lu.assertNotStrContains(render_device(make_plan("none", "warps", "bf16")), "round_weights")
end

-- Products round queries, keys and values if only attention in fragments reads them, and scale queries; attention
-- rounds its output and gradients for the products that read them.
function TestWarpProducts.test_attention_and_products_round_their_results_for_each_other()
  local function list_forms(encoding, precision)
    local text, found = render_device(make_plan(encoding, "warps", precision)), {}
    for _, name in ipairs({ "product_width_to_3_width", "product_width_to_width", "product_width_to_width_grad" }) do
      found[#found + 1] = text:match("void " .. name .. "%b() (%b{})"):match("unrounded") or "rounded"
    end
    return table.concat(found, " "), text
  end
  local names, text = list_forms("none")
  lu.assertEquals(names, "rounded unrounded rounded")
  lu.assertStrContains(text, "{FINISH_STORE, true, WIDTH, LOGIT_SCALE * LOG2E}")
  lu.assertEquals(list_forms("alibi"), "rounded unrounded rounded")
  lu.assertEquals(list_forms("rope"), "unrounded unrounded rounded") -- rotation reads queries and keys
  for _, encoding in ipairs({ "relative", "geometric" }) do
    lu.assertEquals(list_forms(encoding), "unrounded unrounded unrounded", encoding)
  end
  lu.assertEquals(list_forms("none", "bf16"), "unrounded unrounded unrounded")
end

-- If all shards together (the team) compute gradients of weights, a shard stores the operands for them: each operand is
-- stored once, by the product that reads it.
function TestWarpProducts.test_products_keep_their_operands_where_the_team_reads_them()
  for _, model in ipairs({ "", "activation = 'gelu'", "activation = 'swiglu'", "hidden_dropout = 0.1" }) do
    local device = make_plan("none", "warps", "tf32", model).device
    local block, counts = device.blocks[1], {}
    for _, record in ipairs(lists.join(block.forward, block.backward)) do
      for _, role in ipairs({ "operand", "hidden", "dhidden" }) do
        local place = type(record[role]) == "string" and record[role]:match("held%.([%w_]+)")
        counts[place or ""] = (counts[place or ""] or 0) + 1
      end
    end
    lu.assertEquals(#device.operands.list, 4, model)
    for _, operand in ipairs(device.operands.list) do
      lu.assertEquals({ counts[operand.name .. "_x"], counts[operand.name .. "_dy"] }, { 1, 1 }, model .. operand.name)
    end
  end
end

-- The names of those arrays of a layer, and of the training, that hold hidden channels, as one text.
local function list_hidden_arrays(kernel, max_length, model)
  local fields_text = "train = { lengths = { 1, %d } }, model = { %s }, precision = 'tf32', device_products = %q"
  local device = plans.plan_task("kind = 'bucket_sort'", ", encoding = { kind = 'none' }, "
    .. fields_text:format(max_length, model, kernel)).device
  local names = lists.map(lists.join(device.blocks[1].members, device.training), function(member)
    return member.name:find("hidden", 1, true) and member.name or nil
  end)
  return table.concat(names, " ")
end

-- Each model has three lists of arrays: with tiles; with warps and gradients of weights that are added by shard; with
-- warps and gradients of weights that are added over the batch.
function TestWarpProducts.test_chains_have_no_arrays_that_no_operation_uses()
  local with_sums = "hidden_sum hidden dhidden dhidden_sum"
  for model, arrays in pairs({
    [""] = { "hidden dhidden", "hidden dhidden", "" },
    ["bias = 'none'"] = { with_sums, "hidden dhidden_sum", "" },
    ["activation = 'gelu'"] = { with_sums, "hidden_sum hidden dhidden_sum", "hidden_sum" },
    ["activation = 'gelu', hidden_dropout = 0.1"] = { with_sums, with_sums, with_sums } }) do
    lu.assertEquals({ list_hidden_arrays("tiles", 60, model), list_hidden_arrays("warps", 60, model),
      list_hidden_arrays("warps", 40, model) }, arrays, model)
  end
end

function TestWarpProducts.test_attention_is_in_fragments_if_its_encoding_allows_it()
  local in_fragments = { none = true, learned = true, rope = true, alibi = true, relative = false, shaw = false,
    alibi_learned = false, geometric = false }
  for encoding, expected in pairs(in_fragments) do
    local tiles, warps = render_device(make_plan(encoding, "tiles")), render_device(make_plan(encoding, "warps"))
    lu.assertEquals(warps:find("multiply_heads(", 1, true) ~= nil, expected, encoding)
    lu.assertEquals(warps:find("log_sum", 1, true) ~= nil, expected, encoding)
    lu.assertNotStrContains(tiles, "multiply_heads", nil, nil, encoding)
  end
end

function TestWarpProducts.test_wide_heads_are_not_in_fragments()
  local fields_text = ", encoding = { kind = 'none' }, model = { heads = %d, width = 128 }, precision = 'tf32', " ..
    "device_products = 'warps'"
  for heads, rows in pairs({ [2] = false, [4] = 16, [8] = 16, [16] = 32 }) do
    local text = render_device(plans.plan_task("kind = 'bucket_sort'", fields_text:format(heads)))
    lu.assertEquals(tonumber(text:match("WARP_ROWS = (%d+)")) or false, rows, heads)
  end
end

function TestWarpProducts.test_each_precision_multiplies_by_its_own_code()
  local function has_code(precision, text)
    return render_device(make_plan("none", "warps", precision)):find(text, 1, true) ~= nil
  end
  for precision, text in pairs({ float32 = "struct split {", tf32 = "{ mma_tf32(", bf16 = "{ mma_bf16(",
    float64 = "__shfl_sync(" }) do
    for _, code_precision in ipairs({ "float32", "tf32", "bf16", "float64" }) do
      lu.assertEquals(has_code(code_precision, text), code_precision == precision,
        precision .. " in " .. code_precision)
    end
  end
end

function TestWarpProducts.test_warp_products_have_bits_of_their_own_and_the_same_model()
  local tiles, warps = make_plan("none", "tiles"), make_plan("none", "warps")
  lu.assertNotEquals(warps.digest, tiles.digest)
  lu.assertEquals(warps.model_digest, tiles.model_digest)
end

function TestWarpProducts.test_the_plan_shows_the_kernel_of_products()
  lu.assertStrContains(find_choice(make_plan("none", "warps"), "gpu product kernel").why, "not been timed on a GPU")
  lu.assertStrContains(find_choice(make_plan("none", "warps"), "gpu attention").why, "fragments of tensor instructions")
  local tiles = find_choice(make_plan("none", "tiles"), "gpu product kernel")
  lu.assertEquals(tiles.value, "tiles")
  lu.assertStrContains(tiles.why, 'device_products = "warps"')
end

function TestWarpProducts.test_the_plan_shows_shared_memory()
  local warps, tiles = find_choice(make_plan("none", "warps"), "gpu shared memory"),
    find_choice(make_plan("none", "tiles"),
    "gpu shared memory")
  lu.assertEquals(warps.value, ("%d bytes"):format(2 * 24 * 256 * 4 + 1024))
  lu.assertStrContains(warps.why,
    "49152 bytes that operations use in turn (chains of products at width 64 need the most)")
  lu.assertStrContains(warps.why, "attention: 8 heads of 8 channels, fragments of 32 rows")
  lu.assertEquals(tiles.value, ("%d bytes"):format(6 * 32 * 64 * 4 + 1024))
  lu.assertStrContains(tiles.why, "(products at width 64 need the most)")
  lu.assertStrContains(tiles.why, "8 heads of 8 channels, a thread for each head")
end

-- For gradients over the batch, 128 sequences of the longest length store the inputs and output gradients of the four
-- products of each layer.
function TestWarpProducts.test_the_plan_shows_where_gradients_of_weights_are_added()
  local function plan_lengths(max_length)
    return plans.plan_task("kind = 'bucket_sort'", ([[, precision = "tf32", device_products = "warps",
      train = { lengths = { 1, %d } }]]):format(max_length))
  end
  local short, long = plan_lengths(40), plan_lengths(60)
  lu.assertEquals({ short.cuda.by_team, long.cuda.by_team }, { true, false })
  lu.assertEquals(short.cuda.operand_bytes, 128 * 80 * 5 * (64 + 192 + 64 + 64 + 64 + 256 + 256 + 64) * 4)
  local choice = find_choice(short, "gpu gradients of weights")
  lu.assertEquals(choice.value, "over the batch")
  lu.assertStrContains(choice.why, ("%.1f MB"):format(short.cuda.operand_bytes / 1e6))
  lu.assertEquals(find_choice(long, "gpu gradients of weights").value, "by shard")
  lu.assertNil(find_choice(make_plan("none", "tiles"), "gpu gradients of weights"))
  lu.assertStrContains(find_choice(long, "gpu gradients of weights").why, "which is too much")
  for name, is_for_shards in pairs({ product_gradient = true, add_up_tile = false }) do
    lu.assertEquals(render_device(short):find(name, 1, true) ~= nil, not is_for_shards, name)
    lu.assertEquals(render_device(long):find(name, 1, true) ~= nil, is_for_shards, name)
  end
end

-- The operands would fit, but parts of a step have different lengths, or steps different numbers of passes.
function TestWarpProducts.test_the_plan_names_the_reason_for_gradients_by_shard()
  local reasons = {
    ["train = { lengths = { 1, 9, per = 'sequence' } }"] = "shards have sequences of different lengths",
    ["train = { lengths = { 1, 9 } }, model = { loops = { times = 5, progressive = true } }"] =
      "steps have different numbers of passes",
  }
  for settings, reason in pairs(reasons) do
    local plan = plans.plan_task("kind = 'bucket_sort'",
      ([[, precision = "tf32", device_products = "warps", %s]]):format(settings))
    local choice = find_choice(plan, "gpu gradients of weights")
    lu.assertEquals({ choice.value, choice.why }, { "by shard", reason })
  end
end

support.run()
