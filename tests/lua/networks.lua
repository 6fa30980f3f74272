-- Random descriptions of networks, for whoever checks what is derived from a description.
--
-- Input: a number, which network it is (the same on every machine), and what may be in it:
--   streams    1, or 2: a second stream whose values blocks read from outside
--   families   names of attentions that may be used; "cross" is used where there are two streams
--   rates      of dropout, to pick from
--   layers     there is one block of so many layers, which runs once and has the only attention, and the spec says what
--              is dropped out of the embedding, as the generator prints networks today
--   around     false: nothing but norms stands outside of blocks
--   tied       false: an output of its own
-- Output: { text, width, streams }: text is a Lua chunk that returns the description.
--
-- Names repeat from scope to scope on purpose: blocks and the network around them share buffers by name.

local new_random = require("random")

local M = {}

M.WIDTH = 16

local KINDS = { "layer", "rms" }
local ACTIVATIONS = { "relu", "gelu", "gelu_tanh", "silu" }
local GATES = { "swiglu", "geglu" }
local HIDDEN = { 16, 32 }
local RATES = { 0, 0, 0.1, 0.3 }

-- What is written so far; `scope` is the variable that the methods are called on.
local Writer = {}
Writer.__index = Writer

function Writer:line(format, ...)
  self.lines[#self.lines + 1] = "  " .. format:format(...)
end

-- A local variable that holds a value; returns its name.
function Writer:value(format, ...)
  local name = self:unique("v")
  self:line("local %s = " .. format, name, ...)
  return name
end

-- A name of its own within the whole description.
function Writer:unique(prefix)
  self.counts[prefix] = (self.counts[prefix] or 0) + 1
  return prefix .. self.counts[prefix]
end

-- A name of its own within the scope.
function Writer:name(prefix)
  self.names = self.names + 1
  return prefix .. self.names
end

function Writer:rate()
  return self.random:pick(self.dropout and self.rates or { 0 })
end

function Writer:bool()
  return tostring(self.random:chance(2))
end

local branches = {}

-- The first attention of a scope takes the names that the description's reader expects, the others names of their own.
function branches.attention(w, y)
  local family = w.random:pick(w.families)
  local name = w.attends or w.used[family]
  w.attends, w.used[family] = true, true
  return w:value("%s:attention(%q, %s, %s, { bias = %s%s })", w.scope, family, y, y, w:bool(),
    name and (", name = %q"):format(w:unique("look")) or "")
end

function branches.cross(w, y)
  local name = w.used.cross and (", name = %q"):format(w:unique("memory_look")) or ""
  w.used.cross = true
  return w:value("%s:attention(\"cross\", %s, %s, { bias = %s%s })", w.scope, y, w.memory, w:bool(), name)
end

function branches.feedforward(w, y)
  local hidden = w.random:pick(HIDDEN)
  local activation = w.random:pick(w.random:chance(3) and GATES or ACTIVATIONS)
  return w:value("%s:feedforward(%s, { hidden = %d, activation = %q, bias = %s, name = %q })", w.scope, y, hidden,
    activation, w:bool(), w:name("mlp" .. hidden .. "_"))
end

function branches.map(w, y)
  return w:value("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:name("map"), y, M.WIDTH, w:bool())
end

function branches.chain(w, y)
  local hidden = w.random:pick(HIDDEN)
  local up = w:value("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:name("up" .. hidden .. "_"), y, hidden,
    w:bool())
  local act = w:value("%s:activation(%q, %s, %q)", w.scope, w:name("act"), up, w.random:pick(ACTIVATIONS))
  local down = w:value("%s:product(%q, %s, %d)", w.scope, w:name("down"), act, M.WIDTH)
  return w.random:chance(3) and w:value("%s:activation(%q, %s, \"gelu_tanh\")", w.scope, w:name("late"), down) or down
end

-- One value, read by two products and by the sum of them.
function branches.twice(w, y)
  local both = w:value("%s:product(%q, %s, %d)", w.scope, w:name("both"), y, M.WIDTH)
  local one = w:value("%s:product(%q, %s, %d)", w.scope, w:name("one"), both, M.WIDTH)
  local first, second = table.unpack(w.random:pick({ { one, both }, { both, one }, { one, one } }))
  return w:value("%s:add(%s, %s)", w.scope, first, second)
end

function branches.gate(w, y)
  local name = w:name("wide")
  local x = w:value("%s:product(%q, %s, %d, { tensors = { %q, %q } })", w.scope, name, y, M.WIDTH, name .. ".gate",
    name .. ".up")
  return w:value("%s:gate(%q, %s, %q)", w.scope, w:name("gated"), x, w.random:pick({ "silu", "gelu" }))
end

function branches.norm(w, y)
  return w:value("%s:norm(%q, %s, %q)", w.scope, w:name("again"), y, w.random:pick(KINDS))
end

-- What comes from outside, as it is or through a product.
function branches.outside(w)
  if w.random:chance(2) then
    return w.outside
  end
  return w:value("%s:product(%q, %s, %d, { bias = %s })", w.scope, w:name("inject"), w.outside, M.WIDTH, w:bool())
end

local PLAIN = { "attention", "attention", "feedforward", "feedforward", "map", "chain", "twice", "gate", "norm" }

local function branch(w, y, h)
  local kinds = { table.unpack(PLAIN, w.layers and 3 or 1) }
  if w.memory then
    kinds[#kinds + 1], kinds[#kinds + 2] = "cross", "cross"
  end
  if w.outside and y == h then -- else nothing would read y
    kinds[#kinds + 1] = "outside"
  end
  return branches[w.random:pick(kinds)](w, y)
end

local function norm(w, x)
  return w:value("%s:norm(%q, %s, %q)", w.scope, w:name("norm"), x, w.random:pick(KINDS))
end

local function add(w, residual, part)
  local rate = w:rate()
  return w:value("%s:add(%s, %s%s)", w.scope, residual, part, rate > 0 and (", %g"):format(rate) or "")
end

-- Norm and branch, in one of the orders that there are; then, now and then, an older value once more. The result is
-- read by nothing yet.
local function sublayer(w, h)
  local order = w.random:pick({ "pre", "post", "post", "none" })
  local y = order == "pre" and norm(w, h) or h
  local s = add(w, h, branch(w, y, h))
  if w.random:chance(4) then
    s = add(w, s, branch(w, y, h))
  end
  local older = w.older[1] and w.random:chance(4) and w.random:pick(w.older)
  if older then
    s = add(w, s, older)
  end
  w.older[#w.older + 1] = s
  return order == "post" and norm(w, s) or s
end

local function sublayers(w, h, most)
  for _ = 1, w.random:below(most) do
    h = sublayer(w, h)
  end
  return h
end

local function block(w, number, x)
  local inner = setmetatable({ scope = "b" .. number, names = 0, older = {}, attends = false }, { __index = w })
  local name, count = "layer" .. (w.layers and "" or number), w.layers or w.random:below(2)
  local loops = not w.layers and w.random:chance(4) and ", { loops = 2 }" or ""
  w:line("local b%d = net:block(%q, %d, \"A random block.\"%s)", number, name, count, loops)
  inner.memory = w.source_memory and w:value("b%d:external(%s)", number, w.source_memory)
  inner.outside = w.random:chance(3) and w:value("b%d:external(%s)", number, w.random:pick(w.older)) or nil
  local h = w:value("b%d:input(%s)", number, x)
  h = w.layers and add(inner, h, branches.attention(inner, h)) or h
  h = sublayers(inner, h, 3)
  if inner.memory then -- it is there to be read
    h = add(inner, h, branches.cross(inner, h))
  end
  if inner.outside then
    h = add(inner, h, inner.outside)
  end
  w:line("b%d:output(%s)", number, h)
  return ("b%d.result"):format(number)
end

local function second_stream(w)
  local memory = w:value("net:embed(\"memory\", net:stream(\"target\"), { table = tokens, scale = 2 })")
  if w.random:chance(2) then
    memory = norm(w, memory)
  end
  w.source_memory = memory
end

local function network(w, streams, blocks, tied)
  w:line("local tokens = net:table(\"token\")")
  local rate = w.layers and "net.additive_dropout" or ("%g"):format(w:rate())
  local x = w:value("net:embed(\"embedding\", net:stream(\"source\"), { table = tokens, scale = 4, "
    .. "place = net.additive, dropout = %s })", rate)
  if streams == 2 then
    second_stream(w)
  end
  w.older[1] = x
  if w.around and w.random:chance(3) then
    x = sublayer(w, x)
  end
  for number = 1, blocks do
    x = block(w, number, x)
    w:line("local h%d = %s", number, x)
    x = "h" .. number
    if w.around and w.random:chance(3) then
      x = sublayer(w, x)
    end
    if number < blocks then
      w.older[#w.older + 1] = x
    end
  end
  if w.random:chance(2) then
    x = norm(w, x)
  end
  w:line("net:classify(net:readout(%s, \"last\")%s)", x, tied and w.random:chance(3) and ", { tied = tokens }" or "")
end

function M.random(number, options)
  local random = new_random(number)
  local w = setmetatable({ random = random, lines = {}, counts = {}, scope = "net", names = 0, older = {}, used = {},
    families = options.families, layers = options.layers, around = options.around ~= false,
    rates = options.rates or RATES, dropout = random:chance(2) }, Writer)
  local streams = options.streams == 2 and random:chance(3) and 2 or 1
  network(w, streams, options.layers and 1 or random:below(2), options.tied ~= false)
  table.insert(w.lines, 1, ("-- Random network %d."):format(number))
  table.insert(w.lines, 2, "return function(net)")
  w.lines[#w.lines + 1] = "end"
  return { text = table.concat(w.lines, "\n") .. "\n", width = M.WIDTH, streams = streams }
end

return M
