-- The plan's CUDA half, and device code. In narrow models, device code computes products. In wide models, a library
-- computes products between phases of device code. tests/emulation tests the results of the code.

local support = dofile("tests/lua/support.lua")

local chips = require("plan.deriving.chips")
local code = require("device_code")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local parameters = require("network.graph.parameters")
local plan_page = require("lab.pages.plan_page")

local NARROW, WIDE, ENCODINGS, ATTENTION_CODE = code.NARROW, code.WIDE, code.ENCODINGS, code.ATTENTION_CODE
local read_template, plan_encoding, render_device, find_choice = code.read_template, code.plan_encoding,
  code.render_device, code.find_choice
local plan_own, project = code.plan_own, code.project

TestProducts = {}

function TestProducts.test_a_library_computes_products_from_width_256_on()
  local expected = { [64] = "generated", [NARROW] = "generated", [WIDE] = "library", [1024] = "library" }
  for width, products in pairs(expected) do
    lu.assertEquals(render_device("none", width).cuda.products, products, width)
  end
end

function TestProducts.test_the_plan_names_products_and_reasons()
  lu.assertEquals(find_choice(render_device("none", NARROW), "gpu products").value, "float32")
  local products = find_choice(render_device("none", WIDE, "tf32"), "gpu products")
  lu.assertEquals(products.value, "cuBLASLt, tf32")
  lu.assertStrContains(products.why, "from width 256 on: products over all tokens of a batch")
  lu.assertStrContains(find_choice(render_device("none", WIDE), "gpu, one model").why, "replicas take turns")
  lu.assertNotNil(find_choice(render_device("none", NARROW), "gpu, replicas"))
  lu.assertNil(find_choice(render_device("none", WIDE), "gpu, replicas"))
end

-- With equal shards, replicas have the bits of a single model.
function TestProducts.test_replicas_of_a_wide_model_have_the_shards_of_a_single_model()
  local plan = render_device("none", WIDE)
  lu.assertEquals(plan.cuda.chip_shards, plan.cuda.replica_shards)
end

-- Names that occur only in device code of narrow models, and names that occur only in device code of wide models.
local NARROW_NAMES = { "train_shard", "layer_forward(", "product_forward(", "layer_backward(" }
local WIDE_NAMES = { "lh_cuda_place", "PHASE_LAYER_ATTENDED", "train_phase", "assign_part", "layer_gradients" }

function TestProducts.test_device_code_has_no_text_of_the_other_form()
  for _, encoding in ipairs(ENCODINGS) do
    local _, narrow = render_device(encoding, NARROW)
    local _, wide_code = render_device(encoding, WIDE)
    for _, name in ipairs(NARROW_NAMES) do
      lu.assertStrContains(narrow, name, nil, nil, encoding)
      lu.assertNotStrContains(wide_code, name, nil, nil, encoding)
    end
    for _, name in ipairs(WIDE_NAMES) do
      lu.assertStrContains(wide_code, name, nil, nil, encoding)
      lu.assertNotStrContains(narrow, name, nil, nil, encoding)
    end
  end
end

-- In wide models, device code computes only the products of Transformer-XL's distance vectors.
function TestProducts.test_wide_device_code_multiplies_only_for_distance_vectors()
  for _, encoding in ipairs(ENCODINGS) do
    local _, wide = render_device(encoding, WIDE, "tf32")
    for _, name in ipairs({ "write_results", "mma_tf32", "SLAB" }) do
      lu.assertEquals(wide:find(name, 1, true) ~= nil, encoding == "relative", encoding .. ": " .. name)
    end
  end
end

function TestProducts.test_host_code_lists_the_launches()
  local _, _, narrow = render_device("rope", NARROW)
  local _, _, wide = render_device("rope", WIDE)
  lu.assertStrContains(wide, ".launches = launches,")
  lu.assertNotStrContains(narrow, "launches")
end

TestNetwork = {}

-- Returns the names of the members of a C struct in `text`, in order, separated by blanks.
local function list_members(text, struct)
  local body = text:match("typedef struct " .. struct .. " {\n(.-)\n} " .. struct .. ";")
  local names = lists.find_all(body:gsub("/%*.-%*/", ""), "([%w_]+)%f[%[,;][%[,;]")
  return table.concat(lists.filter(names, function(name) return not name:find("^[%u%d_]+$") end), " ")
end

local NORMS_AND_BIASES = "norm1_scale norm1_offset up_bias down_bias norm2_scale norm2_offset"

-- The library computes the gradients of products' weights.
function TestNetwork.test_shards_of_a_wide_model_sum_gradients_except_of_product_weights()
  local extra_members = { relative = "content_bias ", geometric = "content_bias direction_bias geometric " }
  for _, encoding in ipairs(ENCODINGS) do
    local _, device = render_device(encoding, WIDE)
    lu.assertEquals(list_members(device, "layer_gradients"), (extra_members[encoding] or "") .. NORMS_AND_BIASES,
      encoding)
    lu.assertEquals(list_members(device, "gradients"), "token layer output output_bias", encoding)
    local _, fold_count = device:match("INLINE void fold_gradients.-\n}"):gsub("fold_shards%(", "")
    local _, added_count = (extra_members[encoding] or ""):gsub(" ", "")
    -- 6 norms and biases of the layer, then token, output and output_bias
    lu.assertEquals(fold_count, 6 + 3 + added_count + (device:find("sum_bytes", 1, true) and 1 or 0), encoding)
  end
end

function TestNetwork.test_each_dropout_of_each_layer_is_a_site()
  local plan = plan_encoding("none", NARROW)
  lu.assertEquals({ plan.device.site_count, plan.device.max_dropouts }, { 4, 2 })
  plan = plan_encoding("sinusoid", NARROW)
  lu.assertEquals({ plan.device.site_count, plan.device.max_dropouts, #plan.device.masks }, { 5, 2, 2 })
end

function TestNetwork.test_cuda_files_are_refused_without_device_code()
  local cases = {
    { 'block:output(block:add(h, block:product("y", h, model.width)))', "a network without attention" },
    { 'block:output(block:product("back", block:norm("n", block:product("wide", block:add(h, ' .. ATTENTION_CODE ..
      '), 32)), model.width))',
      "norms, sums and copies of the value n, whose 32 channels are not the model's width (own.lua:5)" },
  }
  for _, case in ipairs(cases) do
    local plan = assert(plan_own(case[1]))
    local files, message = project:render_files(plan, true)
    lu.assertNil(files)
    lu.assertStrContains(message, "there is no device code for " .. case[2])
    lu.assertStrContains(message, "expected: --target cpu")
    lu.assertEquals({ find_choice(plan, "gpu").value, find_choice(plan, "gpu, one model") }, { "none" })
  end
end

-- Renders a network whose block is applied twice; returns the plan and the texts of device.cu, cuda.c and trace.inc,
-- nil without device code.
local function render_loop(width, encoding)
  local plan = assert(plan_own('block:output(block:norm("n", block:add(h, ' .. ATTENTION_CODE .. ')))', width, encoding,
    'model.layers, "", { loops = 2 }'))
  local text = support.index_texts(plan.device and assert(gen.render_files(plan, read_template, {}, true)) or {})
  return plan, text["device.cu"], text["cuda.c"], text["trace.inc"]
end

function TestNetwork.test_gradients_of_a_block_that_runs_twice_are_stored_then_added()
  local _, narrow, _, trace = render_loop(NARROW)
  lu.assertStrContains(trace, "trace_attention_self(&w, &w.layer[0], to++);")
  lu.assertStrContains(narrow, "if (block()->use < 1 * LAYERS) return (layer_parameters *)(real *)block()->work.")
  lu.assertStrContains(narrow, "for (int use = 2 * LAYERS - 1; use >= 0; use--) {")
  local _, wide, host = render_loop(WIDE)
  lu.assertStrContains(wide, "layer_gradients layer[2 * LAYERS];")
  lu.assertStrContains(host, "w->dquery_key_value, use < 1 * LAYERS, g->query_key_value);")
  _, wide, host = render_loop(WIDE, "shaw")
  lu.assertStrContains(wide, "        if (block()->use < 1 * LAYERS) begin_more_sums();\n        attend_backward();\n")
  lu.assertStrContains(host, "return GRADIENT_BYTES + 2 * sum_bytes(longest->length[0]);")
end

-- Only CPUs train wide models with sequences of different lengths in one step.
function TestNetwork.test_mixed_lengths_of_wide_models_have_no_device_code()
  local function plan_mixed(width)
    return assert(project:plan("tests/specs/emulated_masked.lua", { "train.lengths.per=sequence",
      ("model.width=%d"):format(width) })).plan
  end
  local feature = 'train.lengths.per = "sequence" in a model of width 256 or more'
  local plan = plan_mixed(256)
  lu.assertEquals(plan.no_device_code.what, feature)
  lu.assertStrContains(select(2, project:render_files(plan, true)), "there is no device code for " .. feature)
  lu.assertFalse(plan_mixed(32).no_device_code)
end

-- All sequences of a part have the same length, and the spec has 20 lengths.
function TestNetwork.test_steps_of_mixed_lengths_have_at_most_one_part_per_length()
  local function count_parts(batch)
    local plan = assert(project:plan("tests/specs/emulated_masked.lua", { "train.lengths.per=sequence",
      ("train.batch=%d"):format(batch), "device_products=warps" })).plan
    lu.assertFalse(plan.cuda.by_team) -- each shard has its own gradients of weights
    return plan.cuda.parts
  end
  lu.assertEquals(count_parts(128), 20)
  lu.assertEquals(count_parts(3), 3)
  lu.assertFalse(assert(project:plan("tests/specs/emulated_masked.lua", {})).plan.cuda.parts)
end

-- With a mean over sequences, a label's gradient already has its final factor, so no code scales the sum.
function TestNetwork.test_labels_of_sequences_have_weights_of_their_own()
  local function render(setting)
    local plan = assert(project:plan("tests/specs/emulated_masked.lua", { setting })).plan
    return support.index_texts(assert(gen.render_files(plan, read_template, {}, true)))["device.cu"]
  end
  local by_token, by_sequence = render("train.loss_mean=token"), render("train.loss_mean=sequence")
  for _, name in ipairs({ "mask_factor(", "scale_piece(" }) do
    lu.assertStrContains(by_token, name)
    lu.assertNotStrContains(by_sequence, name)
  end
  lu.assertStrContains(by_sequence, "const real scale = weigh_label(n);")
  lu.assertNotStrContains(by_token, "weigh_label")
end

-- A dropout mask of another width has its own array.
function TestNetwork.test_masks_of_the_model_s_width_are_contiguous()
  local function list_masks(model)
    local path = support.write("masks.lua", ([[return { task = { kind = "bucket_sort" }, encoding = { kind = "none" },
      model = { layers = 3, %s } }]]):format(model))
    local result = assert(project:plan(path))
    local device = result.plan.device
    local list = lists.map(device.bits, function(bits) return ("%s %d"):format(bits.name, bits.dropout_number) end)
    local blocks = device.masks[2]
    return { list, device.site_count, device.max_dropouts, blocks and blocks.dropout_numbers or false }, result.plan
  end
  lu.assertEquals(list_masks("embedding_dropout = 0.1"), { {}, 7, 2, false })
  lu.assertEquals(list_masks("dropout = 0, attention_dropout = 0.2"), { { "self_weights_keep 0" }, 0, 1, false })
  local masks, plan = list_masks("embedding_dropout = 0.1, attention_dropout = 0.2, hidden_dropout = 0.3")
  lu.assertEquals(masks, { { "self_weights_keep 0", "layer_hidden_keep 2" }, 7, 4, { 1, 3 } })
  local text = support.index_texts(assert(gen.render_files(plan, read_template, {}, true)))
  lu.assertStrContains(text["device.cu"], "place = (site - 1) % 2 == 0 ? 1 : 3;")
end

function TestNetwork.test_a_user_s_wide_network_is_divided_at_its_products()
  local plan = assert(plan_own("local a = block:add(h, " .. ATTENTION_CODE .. ", model.dropout)\n" ..
    '  local hot = block:activation("hot", block:product("mixed", a, model.width), "gelu")\n' ..
    '  block:output(block:norm("last", hot))', WIDE))
  lu.assertEquals(plan.device.phases, { "PHASE_EMBEDDING", "PHASE_LOGITS", "PHASE_EMBEDDING_BACK",
    "PHASE_LAYER_ATTENDED", "PHASE_LAYER_SUM1", "PHASE_LAYER_LAST", "PHASE_LAYER_LAST_BACK", "PHASE_LAYER_SUM1_BACK",
    "PHASE_LAYER_ATTENDED_BACK" })
  lu.assertEquals(plan.device.max_launches, "5 + 15 * LAYERS")
end

-- The library adds the bias to a product and applies ReLU. If the library cannot, a phase of device code does both.
function TestNetwork.test_products_of_a_wide_model_add_biases()
  local plan, device, host = render_device("rope", WIDE)
  lu.assertStrContains(host, "add_bias(list, p->up_bias, true, PHASE_LAYER_HIDDEN, l);")
  lu.assertStrContains(host, "add_bias(list, p->down_bias, false, PHASE_LAYER_BRANCH, l);")
  lu.assertNotStrContains(host, "phase(list, PHASE_LAYER_HIDDEN, ")
  lu.assertStrContains(device, "phase == PHASE_LAYER_HIDDEN")
  lu.assertEquals(plan.device.max_launches, "5 + 19 * LAYERS")
  lu.assertNotStrContains(select(3, render_loop(WIDE)), "add_bias")
end

-- In device code, names of a user's values differ from names of attention's arrays.
function TestNetwork.test_values_do_not_have_names_of_attention_s_arrays()
  -- Returns two lists of names in device code: members of the workspace, and members of a block's state.
  local function plan_spec(branch, encoding)
    support.write("own.lua", code.describe_own(branch))
    local spec = assert(project:plan(support.write("own_spec.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { kind = %q }, precision = "tf32", device_products = "warps",
  model = { source = "own.lua", layers = 2, heads = 4, width = 64, feedforward = 64 } }]]):format(encoding)), {}))
    local device = spec.plan.device
    return lists.get_names(lists.join(device.always, device.training)), lists.get_names(device.blocks[1].members)
  end
  local description, compared_count = "block:output(block:add(h, " .. ATTENTION_CODE .. "))", 0
  for _, encoding in ipairs({ "none", "relative", "alibi_learned", "geometric", "cope", "stick_breaking" }) do
    for _, name in ipairs(lists.join(plan_spec(description, encoding))) do
      local named = ('block:output(block:add(h, block:product(%q, %s, model.width)))'):format(name, ATTENTION_CODE)
      local is_free, workspace, state = pcall(plan_spec, named, encoding)
      for _, members in ipairs(is_free and { workspace, state } or {}) do
        lu.assertEquals(#lists.drop_repeats(members), #members, encoding .. ": " .. name)
        compared_count = compared_count + 1
      end
    end
  end
  lu.assertTrue(compared_count > 30, compared_count .. " compared")
end

TestHeads = {}

-- Several threads, called lanes, share a wide head. The number of lanes is the least power of two that gives a lane at
-- most 16 channels, or 8 in float64. In narrow models, heads of up to 32 channels have one lane.
function TestHeads.test_wide_heads_are_spread_over_threads()
  local cases = { -- width, heads, precision, lanes, uneven
    { 128, 4, "float32", 1, false }, { 128, 4, "float64", 1, false }, { 144, 4, "float32", 4, true },
    { 80, 2, "float64", 8, true }, { 128, 2, "float32", 4, false }, { 240, 1, "tf32", 16, true },
    { 256, 16, "float32", 1, false }, { 256, 8, "float32", 2, false }, { 256, 8, "float64", 4, false },
    { 256, 4, "float32", 4, false }, { 288, 8, "float32", 4, true }, { 256, 1, "float64", 32, false },
  }
  for _, case in ipairs(cases) do
    local attends = plan_encoding("none", case[1], case[3], nil, case[2]).first_family.attends
    lu.assertEquals({ attends.head_lanes, attends.uneven_heads }, { case[4], case[5] }, table.concat(case, " ", 1, 3))
  end
end

function TestHeads.test_no_variant_holds_a_wide_head_in_one_thread()
  for _, encoding in ipairs({ "alibi_learned", "geometric", "relative", "shaw", "cope", "stick_breaking" }) do
    for width, heads in pairs({ [80] = 2, [256] = 4 }) do
      local _, device = render_device(encoding, width, "float32", heads)
      lu.assertStrContains(device, "HEAD_LANES = 4,", nil, nil, encoding)
      lu.assertNotStrContains(device, "%[HEAD_WIDTH%][,;)]", false, true, encoding)
    end
  end
  local _, device = render_device("relative", 128, "float32", 4)
  lu.assertNotStrContains(device, "HEAD_LANES")
  lu.assertStrContains(device, "drow[HEAD_WIDTH]")
end

TestShards = {}

-- Returns three numbers of shards: for a single model on a GPU, for replicas on a GPU, and on CPUs.
local function choose_shards(train, width)
  local plan = plan_encoding("none", width or NARROW, "float32", train)
  return { plan.cuda.chip_shards, plan.cuda.replica_shards, plan.train.shards }
end

-- The default of train.shards is for CPUs. GPUs ignore this value.
function TestShards.test_train_shards_decides_where_it_is_not_the_default()
  lu.assertEquals(choose_shards(""), { 128, 16, 16 })
  lu.assertEquals(choose_shards("shards = 16"), { 128, 16, 16 })
  lu.assertEquals(choose_shards("shards = 64"), { 64, 16, 64 })
  lu.assertEquals(choose_shards("batch = 256, shards = 200"), { 200, 16, 200 })
  lu.assertEquals(choose_shards("batch = 10"), { 10, 10, 10 })
  lu.assertEquals(choose_shards("batch = 10, shards = 5"), { 5, 10, 5 })
  lu.assertEquals(choose_shards("batch = 512", WIDE), { 256, 256, 16 })
  lu.assertEquals(choose_shards("batch = 512, shards = 128", WIDE), { 128, 128, 128 })
end

-- Each shard has its own multiprocessor. The largest shard is as small as possible, with the least number of shards.
function TestShards.test_shards_of_a_batch_on_a_number_of_multiprocessors()
  local expected = { -- sequences of a batch, multiprocessors, shards
    { 128, 108, 64 }, { 128, 114, 64 }, { 128, 128, 128 }, { 128, 132, 128 }, { 128, 58, 43 }, { 128, 40, 32 },
    { 127, 108, 64 }, { 100, 80, 50 }, { 5, 108, 5 }, { 1, 40, 1 },
  }
  for _, case in ipairs(expected) do
    local batch, multiprocessors, count = table.unpack(case)
    lu.assertEquals(chips.count_shards(batch, multiprocessors), count, batch .. " on " .. multiprocessors)
  end
end

-- Returns the plan's advice as { [text of a setting of train.shards] = text that names GPUs }.
local function advise_shards(train, precision)
  local list = {}
  for _, choice in ipairs(plan_page.make_json(plan_encoding("none", NARROW, precision, train)).choices) do
    if choice.what == "gpu, smaller chip" then
      list[choice.value] = choice.why
    end
  end
  return list
end

function TestShards.test_the_plan_advises_fewer_shards_for_smaller_gpus()
  local list = advise_shards("")
  lu.assertStrContains(list["train.shards = 64"], "A100 (108), ")
  lu.assertStrContains(list["train.shards = 64"], "H100 PCIe (114)")
  lu.assertNotStrContains(list["train.shards = 64"], "H100 SXM")
  lu.assertStrContains(list["train.shards = 32"], "one round of blocks: T4 (40)")
  lu.assertNil(advise_shards("", "tf32")["train.shards = 32"]) -- bf16 and tf32 need sm_80
  lu.assertNil(advise_shards("shards = 64")["train.shards = 64"])
  lu.assertEquals(advise_shards("batch = 32"), {})
end

TestForm = {}

-- Lines from templates are checked; clang-format checks the files of kernels/.
function TestForm.test_lines_have_at_most_120_columns_and_no_blank_at_the_end()
  for _, encoding in ipairs(ENCODINGS) do
    local plan, device, host = render_device(encoding, WIDE)
    local kernel_lines = lists.to_set(lists.collect(plan.cuda.kernels, function(name)
      return lists.find_all(read_template(name, "kernels"), "[^\n]+")
    end))
    for _, text in ipairs({ device, host }) do
      for line in text:gmatch("[^\n]*") do
        lu.assertTrue(#line <= 120 or kernel_lines[line], encoding .. ": " .. line)
        lu.assertNil(line:find(" $"), encoding .. ": " .. line)
      end
    end
  end
end

TestConstants = {}

-- Makes constants of all tensors whose names have this ending. Returns the texts of device.cu and spec.c.
local function render_with_constants(ending, width)
  local derive = parameters.derive
  local _, device, _, spec = support.replace_fields({ { parameters, "derive", function(net)
    local derived = derive(net)
    for _, tensor in ipairs(derived.tensors) do
      tensor.learned = tensor.name:sub(-#ending) ~= ending
    end
    return derived
  end } }, function()
    return render_device("none", width)
  end)
  return device, spec
end

local CLEARED = "    clear_constants(piece, gradient);\n        const double squares = piece_squares("

-- The weights of keys are columns of each row, between the columns of queries and values.
function TestConstants.test_gradient_of_rows_is_cleared_before_the_norm()
  local device, spec = render_with_constants("key.weight", WIDE)
  local C, first = WIDE, 7 * WIDE + WIDE -- after the tokens of bucket sort, and the queries of a row
  lu.assertStrContains(device, ("if (e >= %d && e <= %d && (e - %d) %% %d < %d) found = true;"):format(first,
    first + (C - 1) * 3 * C + C - 1, first, 3 * C, C))
  lu.assertStrContains(device, CLEARED)
  lu.assertEquals(select(2, spec:gsub("false},\n", "")), 2)
end

function TestConstants.test_gradient_of_a_whole_tensor_is_cleared_before_the_norm()
  local device = render_with_constants("token.weight", NARROW)
  lu.assertStrContains(device, ("if (e >= 0 && e <= %d) found = true; /* embed.token.weight */"):format(7 * NARROW - 1))
  lu.assertStrContains(device, CLEARED)
end

function TestConstants.test_code_without_constants_does_not_mention_them()
  local device, spec = render_with_constants("no such name", NARROW)
  lu.assertNotStrContains(device, "constant(")
  lu.assertNotStrContains(device, "clear_constants")
  lu.assertNotStrContains(spec, "false},\n")
end

support.run()
