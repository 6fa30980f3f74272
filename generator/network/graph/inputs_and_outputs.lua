-- Methods for the inputs and outputs of a network: streams, tables and vectors of tokens and of positions, the readout,
-- and the logits.
--
-- Input of each method: the network that is being built; for `place`, a block of it. Output: an object of builder.lua,
-- mostly a value. builder.lua adds these methods to the class of scopes (the network and its blocks).

local checks = require("network.graph.checks")
local lists = require("base.lists")

local M = {}

-- Declares the table of learned position vectors and returns its parameter; nil if position vectors are not learned.
-- encoding: the output of facets/additive.lua; tensor: the table's name in files.
local function declare_positions(scope, encoding, tensor)
  if encoding.kind ~= "learned" then
    return nil
  end
  return scope:declare({ kind = "table", name = "position_table", tensor = tensor, columns = scope.net.widths.WIDTH,
    rows = { count = encoding.rows, text = "POSITION_ROWS" }, is_read_from_tables = encoding.is_read_from_tables,
    table_init = encoding.init, frozen = encoding.frozen })
end

-- Adds the position vectors of tokens to a value of a block, and applies dropout to the sum. Each repetition of the
-- block has its own table of learned vectors. encoding: the output of facets/additive.lua.
function M:place(x, encoding)
  local net = self.net
  checks.read(self, x, "the value to which positions are added")
  if not encoding.in_blocks then
    checks.fail(net, "a block adds vectors of positions, and the spec adds none in blocks",
      'encoding.additive.at = "block" in the spec')
  elseif self.has_place then
    checks.fail(net, ("%s has a second place()"):format(self.title), "one place() in a block")
  elseif x.width.count ~= net.widths.WIDTH.count then
    checks.fail(net, ("positions are added to %s, which has %d channels"):format(x.name, x.width.count),
      "a value of the model's width, %d", net.widths.WIDTH.count)
  end
  self.has_place = true
  local op = { kind = "place", x = x, encoding = encoding, p = declare_positions(self, encoding, "position.weight") }
  self:drop(op, "place", encoding.dropout_rate, "place", "PLACE", "PLACE")
  return self:push(op, "placed", x.width, true)
end

-- Adds a stream: the sequence of tokens that one side of the model processes.
function M:stream(name)
  local net = self.net
  if lists.has(lists.get_names(net.streams), name) then
    checks.fail(net, ("two streams are named %s"):format(name), "different names")
  end
  local stream = { name = name, index = #net.streams, line = checks.find_line(net) }
  net.streams[#net.streams + 1] = stream
  return stream
end

-- Declares a table with a vector for each token, which the embeddings of streams and the output layer may share. If
-- model.embedding is "linear", the table is a linear map of one-hot tokens: the vector of a token is a bias plus a row
-- of a matrix, or the bias alone if the token is blank.
function M:table(name)
  local net = self.net
  local p = { name = name, columns = net.widths.WIDTH, init = net.initial, line = checks.find_line(net) }
  if net.model.embedding == "linear" then
    p.kind, p.path, p.rows = "linear", "embed." .. name, net.inputs
  else
    p.kind, p.tensor, p.rows = "table", ("embed.%s.weight"):format(name), net.tokens
  end
  net.tables[#net.tables + 1] = p
  return self:declare(p)
end

-- Appends the embedding of a stream: for each token its vector. Options:
--   table     the table of the vectors, by default a new table
--   scale     a factor of the vectors, or nil
--   place     the output of facets/additive.lua, to add position vectors; or nil
--   dropout   the dropout rate of the result
function M:embed(name, stream, options)
  local net = self.net
  options = options or {}
  local width = net.widths.WIDTH
  local p = options.table or self:table("token")
  p.is_embedded = true
  local positions = options.place
  if p.kind == "linear" and options.scale and options.scale ~= 1 then
    checks.fail(net, ("a linear embedding has the scale %s"):format(options.scale),
      "no scale if model.embedding is \"linear\"")
  elseif positions and positions.in_blocks then
    checks.fail(net, "an embedding adds vectors of positions, and the spec adds them in blocks",
      'block:place(value, net.additive), or encoding.additive.at = "input" in the spec')
  end
  local op = { kind = "embed", stream = stream, p = p, scale = p.kind ~= "linear" and options.scale or nil,
    encoding = positions, other_parameters = {} }
  if positions then
    net.position_table = net.position_table or declare_positions(self, positions, "embed.position.weight")
    op.other_parameters[1] = net.position_table
  end
  self:drop(op, "embedding", options.dropout, "embedding", "EMBEDDING", "EMBEDDING_" .. name:upper())
  return self:push(op, name, width, true)
end

-- Appends zeros with the shape of `value`, on the residual stream.
function M:make_zeros(name, value)
  return self:push({ kind = "zeros", stream = value.stream, like = value }, name, value.width, true)
end

-- Appends normal noise with the shape of `value` and the standard deviation `deviation`, on the residual stream.
function M:make_noise(name, value, deviation)
  return self:push({ kind = "noise", stream = value.stream, like = value, deviation = deviation }, name, value.width,
    true)
end

-- Selects the labelled tokens, the tokens whose logits are computed. choice: "probe" for the probe token if
-- model.readout is "probe", otherwise "last" for the last tokens of the sequence.
function M:readout(x, choice)
  checks.read(self, x, "the value of the readout")
  local expected = self.net.model.readout == "probe" and "probe" or "last"
  if choice ~= expected then
    checks.fail(self.net, ("the readout is %q"):format(choice), "%q%s", expected,
      expected == "probe" and ", the value of model.readout" or "")
  end
  return { labelled = x, choice = choice }
end

-- The parameter of an output layer that reads x. Without a bias it is a table with a row for each class (each output
-- symbol).
local function make_output_parameter(net, x, has_bias)
  if has_bias then
    return { kind = "output", name = "output", rows = x.width, columns = net.classes, init = net.initial, bias = true }
  end
  local classes = net.classes.count
  return { kind = "table", name = "output", tensor = "output.weight", columns = x.width,
    rows = { count = classes, text = "CLASSES" }, table_init = net.initial.weight(x.width.count, classes) }
end

-- Appends the logits of the labelled tokens and the loss. Options:
--   tied   the table of token vectors that is also the weight of the output layer, which then has no bias; or nil
--   bias   whether an output layer with a weight of its own has a bias, by default true
-- The operation's field class_table is the table whose rows are the weights of the classes: options.tied, or the
-- layer's own table if the layer has no bias; nil if the layer has a bias.
function M:classify(readout, options)
  local net = self.net
  options = options or {}
  if net.classified then
    checks.fail(net, "the network has a second classify()", "one classify()")
  elseif options.tied and options.tied.kind == "linear" then
    checks.fail(net, "the output layer is tied to a linear embedding",
      'model.embedding = "table", or classify() without tied')
  end
  local x, has_bias = readout.labelled, options.bias ~= false
  local op = { kind = "classify", x = x, readout = readout.choice, other_parameters = {}, class_table = options.tied }
  if not options.tied then
    local parameter = self:declare(make_output_parameter(net, x, has_bias))
    op.other_parameters[1] = parameter
    op.class_table = not has_bias and parameter or nil
  end
  local padded = net.classes.padded
  net.classified = self:push(op, "logits", { count = padded.count, text = padded.text,
    unpadded_count = net.classes.count })
end

return M
