-- Random descriptions of networks, for tests of all that is derived from a description.
--
-- Input: a seed (an integer), and options. M.make_random makes the same network on every machine. Options:
--   streams           { the output's stream, the other stream }, such as { "target", "source" }; nil: one stream
--   families          names of available attentions; "cross" is used if there are two streams
--   memory_families   families of the other stream's own blocks; nil: the other stream is only embedded
--   widths            possible widths of the model
--   tied              false: the output has its own weight
--   has_block_positions   vectors of positions are added in blocks, not to the vectors of tokens
--   is_generated      the network meets the rules of generated code: at least one attention, all attentions in blocks
--   model             the section `model` of the spec; if its embedding is linear, the output is not tied
--   no_dropout        names of families whose weights have no dropout
-- Output: { text, width, tied }: text is a Lua chunk that returns the description; tied: the output layer's weight is
-- the table of tokens.
--
-- Names repeat across scopes on purpose: blocks and the surrounding network share buffers by name. Names
-- such as "norm" in this file are only placeholders: every network gets other, sampled words in their place.

local base_names = require("base.names")
local new_random = require("random")

local M = {}

M.WIDTH = 16

local KINDS = { "layer", "rms" }
local ACTIVATIONS = { "relu", "gelu", "gelu_tanh", "silu" }
local GATES = { "swiglu", "geglu" }
local HIDDEN = { 16, 32, 48 }
local RATES = { 0, 0, 0.1, 0.3 }
local DEPTHS = { 1, 1, 2, 3 }
local MAPS = { "map", "map to", "map from", "map on", "map back", "map over", "map under" }
-- Sources of a description's names, in addition to letters: words of generated code and of libraries. No word consists
-- of d and another word, as names of gradients do, or of another word, _ and a number, as repeated names do.
local WORDS = { "o", "q", "k", "v", "w", "p", "g", "m", "heads", "weights", "losses", "correct", "key_sums", "largest",
  "pairs", "memory", "mask", "members", "view", "work", "first", "last", "tables", "vectors", "token", "tokens_of", "x",
  "labels_of", "logit", "softmax", "scratch", "kept", "sum", "fold", "total", "gamma", "index", "main", "half", "free",
  "sqrt", "memcpy", "size", "to_output", "lay_out", "pack_network", "far", "quad", "vector", "threads", "blocks",
  "gelu", "layer_norm", "residual_norm", "bias", "dropout", "branch_2" }

-- The writer of one scope. Fields, in addition to the options above:
--   random           a generator (random.lua)
--   word_random      a second generator, which only chooses names
--   lines            the text so far
--   scope            the variable whose methods are called
--   is_block         whether the scope is a block
--   width            the channels of the scope's stream
--   model_width      the channels of the model
--   has_dropout      whether operations may have dropout
--   has_detours      whether branches and blocks may have other widths than the model
--   older            variables of earlier values of the scope
--   source_memory    the variable of the value that all blocks read with cross-attention, or nil
--   memory           in a block: the variable of the value that cross-attention reads
--   outside          in a block: the variable of another value from outside, for branches.outside
--   lacks_norm       whether no norm limits the values of the next branch
--   has_attention    whether the scope has an attention so far
--   used_families    the set of the families that have an attention so far
--   names            the number of uses of each name in the scope
--   counts           the number of uses of each name in the whole description
--   words            the sampled replacements of the words of this file; taken_words: their set
local Writer = {}
Writer.__index = Writer

function Writer:write_line(format, ...)
  self.lines[#self.lines + 1] = "  " .. format:format(...)
end

-- Binds a new local variable to a value; returns the name of the variable.
function Writer:bind(format, ...)
  local name = self:make_unique("v")
  self:write_line("local %s = " .. format, name, ...)
  return name
end

-- Replaces one of this file's words by a sampled one; different words have different replacements.
function Writer:replace(word)
  local replacement = self.words[word]
  while not replacement do
    replacement = self.word_random:is_one_in(2) and self.word_random:pick(WORDS) or self:spell()
    replacement = not self.taken_words[replacement] and base_names.is_identifier(replacement) and replacement
  end
  self.words[word], self.taken_words[replacement] = replacement, true
  return replacement
end

-- Samples a word of letters.
function Writer:spell()
  local letters = {}
  for i = 1, self.word_random:pick_number(12) do
    letters[i] = string.char(("a"):byte() + self.word_random:pick_number(26) - 1)
  end
  return (table.concat(letters):gsub("^d+", "e"))
end

-- Makes a name that is unique within the whole description.
function Writer:make_unique(prefix)
  self.counts[prefix] = (self.counts[prefix] or 0) + 1
  return prefix .. self.counts[prefix]
end

-- Makes a name that is unique within the scope; the first one has no number at its end.
function Writer:make_name(prefix)
  prefix = self:replace(prefix)
  local number = (self.names[prefix] or 0) + 1
  self.names[prefix] = number
  return number == 1 and prefix or prefix .. "_" .. number
end

-- Makes a name for a value with this number of channels: a name has one width in the whole network.
function Writer:make_sized_name(prefix, width)
  return self:make_name(prefix .. " " .. width)
end

function Writer:pick_rate()
  return self.random:pick(self.has_dropout and RATES or { 0 })
end

-- Returns the text of an option of dropout with a random rate; "" for the rate 0.
function Writer:write_dropout_option(name)
  local rate = self:pick_rate()
  return rate > 0 and (", %s = %g"):format(name, rate) or ""
end

function Writer:pick_boolean()
  return tostring(self.random:is_one_in(2))
end

-- Each function writes a branch from the value y and returns the variable of its result.
local branches = {}

-- An attention needs a name of its own if its scope already has an attention, or if the network already has an
-- attention of its family.
function branches.attention(w, y)
  local family = w.random:pick(w.families)
  local needs_name = w.has_attention or w.used_families[family]
  w.has_attention, w.used_families[family] = true, true
  local name_option = needs_name and (", name = %q"):format(w:make_unique(w:replace("look"))) or ""
  return w:bind("%s:attention(%q, %s, %s, { bias = %s%s%s })", w.scope, family, y, y, w:pick_boolean(), name_option,
    w.no_dropout[family] and "" or w:write_dropout_option("dropout"))
end

function branches.cross(w, y)
  local name = w.used_families.cross and (", name = %q"):format(w:make_unique(w:replace("memory_look"))) or ""
  w.used_families.cross = true
  return w:bind("%s:attention(\"cross\", %s, %s, { bias = %s%s%s })", w.scope, y, w.memory, w:pick_boolean(), name,
    w:write_dropout_option("dropout"))
end

function branches.feedforward(w, y)
  local hidden = w.random:pick(HIDDEN)
  local activation = w.random:pick(not w.lacks_norm and w.random:is_one_in(3) and GATES or ACTIVATIONS)
  local options = w.random:is_one_in(3) and (", branch_activation = %q"):format(w.random:pick(ACTIVATIONS)) or ""
  return w:bind("%s:feedforward(%s, { hidden = %d, activation = %q, bias = %s, name = %q%s%s })", w.scope, y, hidden,
    activation, w:pick_boolean(), w:make_sized_name("mlp", hidden), w:write_dropout_option("hidden_dropout"), options)
end

function branches.map(w, y)
  return w:bind("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:make_name(w.random:pick(MAPS)), y, w.width,
    w:pick_boolean())
end

function branches.chain(w, y)
  local hidden = w.random:pick(HIDDEN)
  local up = w:bind("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:make_sized_name("up", hidden), y, hidden,
    w:pick_boolean())
  local act = w:bind("%s:activation(%q, %s, %q, %g)", w.scope, w:make_name("act"), up, w.random:pick(ACTIVATIONS),
    w:pick_rate())
  local down = w:bind("%s:product(%q, %s, %d)", w.scope, w:make_sized_name("down", w.width), act, w.width)
  return w.random:is_one_in(3) and w:bind("%s:activation(%q, %s, \"gelu_tanh\")", w.scope, w:make_name("late"),
    down) or down
end

-- A product that another product and a sum read.
function branches.twice(w, y)
  local shared = w:bind("%s:product(%q, %s, %d)", w.scope, w:make_sized_name("both", w.width), y, w.width)
  local last = w:bind("%s:product(%q, %s, %d)", w.scope, w:make_sized_name("one", w.width), shared, w.width)
  local first, second = table.unpack(w.random:pick({ { last, shared }, { shared, last }, { last, last } }))
  return w:bind("%s:add(%s, %s)", w.scope, first, second)
end

function branches.gate(w, y)
  local name = w:make_sized_name("wide", w.width)
  local x = w:bind("%s:product(%q, %s, %d, { tensors = { %q, %q } })", w.scope, name, y, w.width,
    name .. "." .. w:replace("gate"), name .. "." .. w:replace("up"))
  return w:bind("%s:gate(%q, %s, %q, %g)", w.scope, w:make_name("gated"), x, w.random:pick({ "silu", "gelu" }),
    w:pick_rate())
end

function branches.norm(w, y)
  return w:bind("%s:norm(%q, %s, %q)", w.scope, w:make_name("again"), y, w.random:pick(KINDS))
end

-- A branch from a value outside of the block, directly or through a product.
function branches.outside(w)
  if w.width == w.model_width and w.random:is_one_in(2) then
    return w.outside
  end
  return w:bind("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:make_sized_name("inject", w.width), w.outside,
    w.width, w:pick_boolean())
end

-- A norm and, at random, a sum and an activation of another width, between two products.
function branches.detour(w, y)
  local width = w.random:pick(HIDDEN)
  local widened = w:bind("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:make_sized_name("there", width), y, width,
    w:pick_boolean())
  local norm = w:bind("%s:norm(%q, %s, %q)", w.scope, w:make_name("wayside"), widened, w.random:pick(KINDS))
  local rate = w:pick_rate()
  local sum = w.random:is_one_in(2) and w:bind("%s:add(%s, %s, %g)", w.scope, widened, norm, rate) or norm
  local activated = w.random:is_one_in(2) and w:bind("%s:activation(%q, %s, %q)", w.scope, w:make_name("hot"), sum,
    w.random:pick(ACTIVATIONS)) or sum
  return w:bind("%s:product(%q, %s, %d)", w.scope, w:make_sized_name("back", w.width), activated, w.width)
end

local COMMON_BRANCHES = { "feedforward", "feedforward", "map", "chain", "twice", "norm" }

-- Adds a random branch from y, which is h or a norm of h. A gate multiplies values, so there is none if no norm limits
-- the values.
local function add_branch(w, y, h)
  local kinds = { table.unpack(COMMON_BRANCHES) }
  local function add_kind(kind, times)
    for _ = 1, times do
      kinds[#kinds + 1] = kind
    end
  end
  add_kind("gate", w.lacks_norm and 0 or 1)
  add_kind("attention", w.width == w.model_width and (w.is_block or not w.is_generated) and 2 or 0)
  add_kind("cross", w.memory and 2 or 0)
  add_kind("outside", w.outside and y == h and 1 or 0) -- not with a norm y, which this branch does not read
  add_kind("detour", w.has_detours and 1 or 0)
  return branches[w.random:pick(kinds)](w, y)
end

local function add_norm(w, x)
  return w:bind("%s:norm(%q, %s, %q)", w.scope, w:make_name("norm"), x, w.random:pick(KINDS))
end

local function add_sum(w, residual, branch)
  local rate = w:pick_rate()
  return w:bind("%s:add(%s, %s%s)", w.scope, residual, branch, rate > 0 and (", %g"):format(rate) or "")
end

-- Adds a norm and a branch in a random order, sometimes with a parallel branch and an older value. first: the function
-- of the branch; nil: any. Returns the variable of the result, which no operation reads yet.
local function add_sublayer(w, h, first)
  local order = w.random:pick({ "pre", "post", "post", "none" })
  local y = order == "pre" and add_norm(w, h) or h
  w.lacks_norm = order == "none"
  local s = add_sum(w, h, (first or add_branch)(w, y, h))
  if w.random:is_one_in(4) then
    s = add_sum(w, s, add_branch(w, y, h))
  end
  local older = w.older[1] and w.random:is_one_in(4) and w.random:pick(w.older)
  if older then
    s = add_sum(w, s, older)
  end
  w.older[#w.older + 1] = s
  return order == "post" and add_norm(w, s) or s
end

local function add_sublayers(w, h, min_count, max_count)
  for _ = 1, min_count + w.random:pick_number(max_count - min_count + 1) - 1 do
    h = add_sublayer(w, h)
  end
  return h
end

-- Writes the content of a block from its input on; needs_attention: whether the block must contain an attention.
local function write_inside(inner, h, needs_attention)
  if needs_attention then
    h = add_sublayer(inner, add_sublayers(inner, h, 0, 1), branches.attention)
  end
  h = add_sublayers(inner, h, needs_attention and 0 or 1, needs_attention and 2 or 3)
  if inner.memory then -- the value from outside must be read
    h = add_sum(inner, h, branches.cross(inner, h))
  end
  if inner.outside then
    h = add_sum(inner, h, branches.outside(inner))
  end
  return h
end

local function add_block(w, number, x, width, needs_attention)
  local inner = setmetatable({ scope = "b" .. number, names = {}, older = {}, width = width,
    has_attention = false, is_block = true }, { __index = w })
  local count, loops = w.random:pick(DEPTHS), w.random:is_one_in(4) and 2 or 1
  w:write_line("local b%d = net:block(\"%s%d\", %d, \"A random block.\"%s)", number, w:replace("layer"), number, count,
    loops > 1 and (", { loops = %d }"):format(loops) or "")
  inner.memory = w.source_memory and width == w.model_width and w:bind("b%d:external(%s)", number, w.source_memory)
  inner.outside = w.random:is_one_in(3) and w:bind("b%d:external(%s)", number, w.random:pick(w.older)) or nil
  local h = w:bind("b%d:input(%s)", number, x)
  if w.has_block_positions and width == w.model_width and (needs_attention or w.random:is_one_in(2)) then
    h = w:bind("b%d:place(%s, net.additive)", number, h)
  end
  h = write_inside(inner, h, needs_attention)
  w:write_line("b%d:output(%s)", number, h)
  w:write_line("local h%d = b%d.result", number, number)
  return "h" .. number
end

-- Adds a block of another width than the model's, and a product before and after it.
local function add_wing(w, number, x)
  local width = w.random:pick(HIDDEN)
  local value = w:bind("net:product(%q, %s, %d)", w:make_sized_name("wing", width), x, width)
  local restored = w:bind("net:product(%q, %s, %d)", w:make_sized_name("landing", w.width),
    add_block(w, number, value, width), w.width)
  return add_sum(w, x, restored)
end

local function add_embedding(w, name, stream, scale, is_placed)
  return w:bind("net:embed(%q, %s, { table = tokens%s, %sdropout = %g })", w:replace(name), stream,
    w.is_linear and "" or ", scale = " .. scale, is_placed and "place = net.additive, " or "", w:pick_rate())
end

-- Writes sublayers and blocks on a stream from x on. first: the number of the first block; needs_attention: whether one
-- of the blocks must contain an attention. Returns the variable of the last value, which no operation reads yet, and
-- the number of the next block.
local function write_stream(w, x, first, needs_attention)
  w.older[1] = x
  if w.random:is_one_in(3) then
    x = add_sublayer(w, x)
  end
  local blocks = w.random:pick(DEPTHS)
  local full_width_block = w.random:pick_number(blocks) -- the block that has the model's width
  for i = 1, blocks do
    local number = first + i - 1
    x = i ~= full_width_block and w.has_detours and w.random:is_one_in(3) and add_wing(w, number, x)
      or add_block(w, number, x, w.width, needs_attention and i == full_width_block)
    if w.random:is_one_in(3) then
      x = add_sublayer(w, x)
    end
    if i < blocks then
      w.older[#w.older + 1] = x
    end
  end
  return x, first + blocks
end

-- Adds the value that blocks read from outside: the vectors of a stream's tokens, or the output of its own blocks.
-- Returns the number of the next block.
local function add_memory(w, stream)
  local has_positions = not w.has_block_positions and w.random:is_one_in(2)
  local memory, next_block = add_embedding(w, "memory", stream, 2, has_positions), 1
  if w.memory_families and w.random:is_one_in(2) then
    local inner = setmetatable({ older = {}, families = w.memory_families }, { __index = w })
    memory, next_block = write_stream(inner, memory, next_block, w.is_generated)
  end
  w.source_memory = w.random:is_one_in(2) and add_norm(w, memory) or memory
  return next_block
end

local function write_network(w, streams)
  for _, name in ipairs(streams[2] and { "source", "target" } or streams) do -- the stream source has the index 0
    w:write_line("local %s = net:stream(%q)", name, name)
  end
  w:write_line("local tokens = net:table(%q)", w:replace("token"))
  local first = streams[2] and add_memory(w, streams[2]) or 1
  local embedding = add_embedding(w, "embedding", streams[1], 4, not w.has_block_positions)
  local x = write_stream(w, embedding, first, w.is_generated)
  if w.random:is_one_in(2) then
    x = add_norm(w, x)
  end
  w.tied = w.tied and not w.is_linear and w.random:is_one_in(4)
  w:write_line("local place = model.readout == \"probe\" and \"probe\" or \"last\"")
  w:write_line("net:classify(net:readout(%s, place)%s)", x, w.tied and ", { tied = tokens }" or "")
end

function M.make_random(number, options)
  local random = new_random(number)
  local width = random:pick(options.widths or { M.WIDTH })
  local w = setmetatable({ random = random, lines = {}, counts = {}, scope = "net", names = {}, older = {},
    used_families = {}, families = options.families, memory_families = options.memory_families,
    no_dropout = options.no_dropout or {},
    is_generated = options.is_generated, has_block_positions = options.has_block_positions,
    width = width, model_width = width,
    has_detours = random:is_one_in(3), tied = options.tied ~= false, has_dropout = random:is_one_in(2),
    is_linear = options.model and options.model.embedding == "linear", words = {}, taken_words = {},
    word_random = new_random(-number) }, Writer)
  write_network(w, options.streams or { "source" })
  table.insert(w.lines, 1, ("-- Random network %d."):format(number))
  table.insert(w.lines, 2, "return function(net, model)")
  w.lines[#w.lines + 1] = "end"
  return { text = table.concat(w.lines, "\n") .. "\n", width = width, tied = w.tied }
end

return M
