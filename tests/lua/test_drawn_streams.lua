-- Random positions of an encoder-decoder: how cross-attention reads distances from them, the sites of the random
-- generator for each stream, ranges, limits, and the text of `plan`.

local support = dofile("tests/lua/support.lua")

local choices = require("plan.pages.choices")
local describe = require("plan.pages.describe")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local spec_writer = require("lab.study.read.spec_writer")

TestDrawnStreams = {}

local SPEC = [[return { task = { kind = "bucket_sort" }, encoding = %s,
  model = { kind = "encoder_decoder", encoder_layers = %d, decoder_layers = 3, heads = 2, width = 16,
    feedforward = 32 },
  train = { use = "quick", lengths = { 1, 9 } }, eval = { lengths = { 1, 9 }, examples = 4 } }]]

local function plan_spec(encoding, encoder_layers)
  return project:plan(support.write("drawn.lua", SPEC:format(encoding, encoder_layers or 2)))
end

local function make_plan(encoding, encoder_layers)
  local spec, message = plan_spec(encoding, encoder_layers)
  lu.assertTrue(spec ~= nil, message)
  return spec.plan
end

local function find_family(plan, name)
  return lists.find(plan.attentions, function(attention) return attention.name == name end)
end

local SAMPLED = "positions = { kind = 'randomized', max_position = 50%s }"

-- Returns the text of an encoding with random positions. facets: text of its other facets; options: text of further
-- fields of the positions, with a comma in front.
local function format_encoding(facets, options)
  return "{ " .. facets .. ", " .. SAMPLED:format(options or "") .. " }"
end

-- The default reading, "drawn", needs queries and keys of one sequence, so cross-attention uses differences.
function TestDrawnStreams.test_cross_attention_defaults_to_differences()
  for _, preset in ipairs({ "relative", "shaw", "alibi", "t5" }) do
    local facets = ("kind = '%s', cross = { use = '%s' }"):format(preset, preset)
    local plan = make_plan(format_encoding(facets))
    lu.assertEquals(plan.resolved.encoding.positions.reading, "drawn")
    lu.assertEquals(plan.resolved.encoding.cross.positions.reading, "difference", facets)
    lu.assertEquals({ find_family(plan, "encoder").positions.distance.kind,
      find_family(plan, "decoder").positions.distance.kind,
      find_family(plan, "cross").positions.distance.kind }, { "drawn", "drawn", "difference" }, facets)
  end
end

-- If cross-attention uses no distances, it has no positions of its own in the resolved spec.
function TestDrawnStreams.test_without_distances_cross_attention_has_the_facets_of_all_families()
  for _, options in ipairs({ "", ", reading = 'drawn'" }) do
    lu.assertNil(make_plan(format_encoding("kind = 'rope'", options)).resolved.encoding.cross)
  end
  local cross = make_plan("{ kind = 'alibi', " .. SAMPLED:format(", reading = 'clamped'")
    .. ", cross = { score = { kind = 'none' } } }").resolved.encoding.cross
  lu.assertEquals({ cross.score, cross.positions.reading }, { "none", "clamped" })
end

function TestDrawnStreams.test_a_reading_of_cross_attention_can_be_written()
  local clamped = make_plan("{ kind = 'alibi', " .. SAMPLED:format(", reading = 'clamped'")
    .. ", cross = { use = 'alibi', positions = { reading = 'difference' } } }")
  lu.assertEquals(find_family(clamped, "decoder").positions.distance.kind, "clamped")
  lu.assertEquals(find_family(clamped, "cross").positions.distance.kind, "difference")
  local plan, message = plan_spec("{ kind = 'alibi', " .. SAMPLED:format("")
    .. ", cross = { use = 'alibi', positions = { reading = 'clamped' } } }")
  lu.assertNil(plan)
  lu.assertStrContains(message, 'encoding.cross.positions.reading: "clamped" cannot be used with cross-attention')
end

-- The resolved spec of a run can be planned again.
function TestDrawnStreams.test_a_resolved_spec_is_a_spec()
  for _, encoding in ipairs({
    format_encoding("kind = 'alibi', rotation = { kind = 'rope' }"),
    format_encoding("kind = 'sinusoid'"),
    format_encoding("kind = 'relative', cross = { use = 'fire' }", ", sorted = false"),
  }) do
    local plan = make_plan(encoding)
    local text = assert(spec_writer.write_spec(plan.resolved))
    lu.assertEquals(project:plan(support.write("drawn.lua", text)).plan.digest, plan.digest, encoding)
  end
end

-- Returns { stream, offset of the site as C text } of the positions of an attention's queries or keys. member: the name
-- of these positions in the attention's state in generated code.
local function find_site(attention, member)
  local side = lists.find(attention.sides, function(candidate) return candidate.member == member end)
  return { side.stream, side.site }
end

-- All families of a stream share a draw per pass. A draw per layer belongs to the block: the queries of cross-attention
-- use the draw of the decoder's self-attention.
function TestDrawnStreams.test_sites_are_of_a_stream()
  local pass = make_plan(format_encoding("kind = 'rope'", ", draw = 'pass'"))
  lu.assertEquals({ pass.streams[1].first_site, pass.streams[2].first_site }, { 0, 3 })
  lu.assertEquals(find_site(find_family(pass, "encoder"), "position"), { 0, "" })
  lu.assertEquals(find_site(find_family(pass, "decoder"), "position"), { 1, " + 3" })
  lu.assertEquals(find_site(find_family(pass, "cross"), "position"), { 1, " + 3" })
  lu.assertEquals(find_site(find_family(pass, "cross"), "key_position"), { 0, "" })
  local layer = make_plan(format_encoding("kind = 'rope'"))
  lu.assertEquals(find_site(find_family(layer, "encoder"), "position"), { 0, " + 1" })
  lu.assertEquals(find_site(find_family(layer, "decoder"), "position"), { 1, " + 1 + 3" })
  lu.assertEquals(find_site(find_family(layer, "cross"), "position"), { 1, " + 1 + 3" })
  lu.assertEquals(find_site(find_family(layer, "cross"), "key_position"), { 0, " + 1 + 7" })
  -- without encoder layers only cross-attention uses the source's positions, so their draws follow the target's
  local bare = make_plan(format_encoding("kind = 'rope'", ", draw = 'pass'"), 0)
  lu.assertEquals({ bare.streams[1].first_site, bare.streams[2].first_site }, { 4, 0 })
  lu.assertEquals(find_site(find_family(bare, "cross"), "key_position"), { 0, " + 4" })
end

-- Positions that a file gives for a stream must be in the range of every attention that uses them, so the least range
-- is the stream's limit.
function TestDrawnStreams.test_the_least_range_of_a_stream_is_its_limit()
  local plan = make_plan("{ kind = 'rope', " .. SAMPLED:format("") .. [[,
    encoder = { positions = { max_position = 30 } }, decoder = { positions = { kind = 'index' } },
    cross = { positions = { max_position = 40, range = 'one_based' } } }]])
  local source, target = plan.streams[1], plan.streams[2]
  lu.assertEquals({ source.position_range, source.first_position }, { 30, 1 })
  lu.assertEquals({ target.position_range, target.first_position }, { 41, 1 })
  lu.assertEquals(plan.limit, { tokens = 30, because = "encoding.encoder.positions.max_position = 30" })
  local short, message = plan_spec("{ kind = 'rope', " .. SAMPLED:format("")
    .. ", cross = { positions = { max_position = 8 } } }")
  lu.assertNil(short)
  lu.assertStrContains(message, "past the range of positions")
  lu.assertStrContains(message, "encoding.cross.positions.max_position = 8")
end

-- Vectors that are added to the embedding use encoding.positions, not the positions of one attention.
function TestDrawnStreams.test_the_embedding_has_a_draw_of_its_own()
  local plan = make_plan(format_encoding("kind = 'sinusoid'", ", sorted = false"))
  lu.assertEquals({ plan.input_draw.kind, plan.input_draw.sorted }, { "randomized", false })
  for _, attention in ipairs(plan.attentions) do
    lu.assertEquals(attention.positions.kind, "index")
  end
  lu.assertStrContains(describe.describe_encoding(plan),
    "sinusoids are added to the token embedding, at unsorted positions drawn from 0 .. 49")
  lu.assertFalse(make_plan("{ kind = 'sinusoid', encoder = { rotation = { kind = 'rope' }, " .. SAMPLED:format("")
    .. " } }").input_draw)
end

-- Returns the texts of a plan's choices, by what is chosen.
local function index_choices(plan)
  local lines = {}
  for _, choice in ipairs(choices.list(plan)) do
    lines[choice.what] = ("%s; %s"):format(choice.value, choice.why)
  end
  return lines
end

function TestDrawnStreams.test_plan_describes_draws()
  local lines = index_choices(make_plan(format_encoding("kind = 'relative', additive = { kind = 'sinusoid' },"
    .. " cross = { use = 'relative' }")))
  lu.assertEquals(lines["position draws, input"], "2; one for each stream")
  lu.assertEquals(lines["distance draws, encoder"], "2; one for each layer")
  lu.assertEquals(lines["distance draws, decoder"], "3; one for each layer")
  lu.assertNil(lines["position draws, decoder"])
  lu.assertEquals(lines["position draws, cross"], "6; one for each layer, of each stream")
  lu.assertEquals(lines["distances, cross"],
    "differences; queries and keys are of two streams, which sample positions separately")
  lu.assertNil(lines.gpu)
  lines = index_choices(make_plan(format_encoding("kind = 'label'")))
  lu.assertEquals(lines["position draws, input"], "as many as sequences; one for each sequence of the batch, of each "
    .. "stream")
end

support.run()
