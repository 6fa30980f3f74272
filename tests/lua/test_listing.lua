-- The list of encodings (`longhand list encodings`): every encoding once, with the models that it fits.

local support = dofile("tests/lua/support.lua")

local listing = require("cli.listing")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")

TestListing = {}

local COMMON_FIELDS = 'task = { kind = "reverse_string" }, model = { use = %q }, train = { use = "ruoss" }, '
  .. 'eval = { use = "ruoss" }'
local SQUARES = 'task = { kind = "latin_square" }, model = { use = "lst_encoder" }, train = { use = "lst" }, '
  .. 'eval = { splits = { "test" } }'
local FOUR_LAYERS = COMMON_FIELDS:gsub("use = %%q }, train", "use = %%q, layers = 4 }, train")
-- Kind of model -> texts of the other fields of specs. An encoding fits the kind if it is valid in one of these specs.
local SPECS = { encoder = { FOUR_LAYERS:format("ruoss_encoder"), SQUARES },
  decoder = { FOUR_LAYERS:format("ruoss_decoder") },
  encoder_decoder = { COMMON_FIELDS:format("small_encoder_decoder") } }

-- Returns the resolved spec of a model of this kind with the encoding, or nil.
local function resolve(kind, name)
  return lists.map(SPECS[kind], function(fields)
    local text = ("return { encoding = { use = %q }, %s }"):format(name, fields)
    return (project:resolve(support.write("fits.lua", text), {}))
  end)[1]
end

function TestListing.test_encodings_are_listed_once_with_their_models()
  local descriptions = {}
  for _, line in ipairs(listing.list(project, "encodings")) do
    local name, description = line:match("^  ([%w_]+) +(.*)$")
    if name then
      lu.assertNil(descriptions[name], name)
      lu.assertNotNil(description:gsub(" %[.*$", ""):find("%.$"), name)
      descriptions[name] = description
    end
  end
  for _, name in ipairs(project:list_names("spec/encodings", ".lua")) do
    lu.assertNotNil(descriptions[name], name)
    local models, accepted_models = descriptions[name]:match("%[models: (.-)%]$"), {}
    for _, kind in ipairs({ "encoder", "decoder", "encoder_decoder" }) do
      accepted_models[#accepted_models + 1] = resolve(kind, name) and kind or nil
    end
    lu.assertEquals(table.concat(accepted_models, ", "), models or "encoder, decoder, encoder_decoder", name)
  end
end

-- Decoders are always causal, so an encoder shows whether the mask is the encoding's own.
function TestListing.test_encodings_with_a_causal_mask_are_marked()
  local marked, causal = {}, {}
  for _, line in ipairs(listing.list(project, "encodings")) do
    marked[#marked + 1] = line:match("^  ([%w_]+) .* %[causal%]")
  end
  for _, name in ipairs(project:list_names("spec/encodings", ".lua")) do
    local spec = resolve("encoder", name)
    causal[#causal + 1] = lists.get(spec, "resolved.encoding.mask.kind") == "causal" and name or nil
  end
  table.sort(marked)
  lu.assertEquals(marked, causal)
  lu.assertEquals(#marked, 12)
end

function TestListing.test_one_item_is_shown()
  local lines = table.concat(listing.show(project, "encodings", "fox"), "\n")
  lu.assertStrMatches(lines, "fox +Forgetting attention .-%[causal%]\n\nspec/encodings/fox.lua:\n\n%-%- Forg.*}")
  lu.assertStrContains(lines, '  parameters = { gate = { per = "token" } },\n}')
  lu.assertEquals(#listing.show(project, "tasks", "even_pairs"), 1)
  lines = table.concat(listing.show(project, "tasks", "addition"), "\n")
  lu.assertStrContains(lines, "\n    options.base: 2 to 36 (10)")
end

function TestListing.test_an_unknown_item_gives_similar_names()
  local cases = {
    { "encodings", "fx", "there is no fx; similar names: fox" },
    { "encodings", "rop", "similar names: lst_rope, rope, rope_linear, rope_nope_cycle, rope_ntk, rope_yarn" },
    { "tasks", "adition", "there is no adition; similar names: addition" },
    { "models", "zzz", "there is no zzz; longhand list models prints all names" },
    { "targets", "cpu", "leave out cpu" },
  }
  for _, case in ipairs(cases) do
    local lines, message = listing.show(project, case[1], case[2])
    lu.assertNil(lines)
    lu.assertStrContains(message, case[3])
  end
end

support.run()
