-- Assigns to every tensor its offset in the parameter vector, and writes the C structs with the same layout. A tensor
-- is an array that a checkpoint stores under one name. A parameter consists of one or several tensors. A member of a
-- struct can hold several tensors side by side.
--
-- Input: a network (builder.lua) with its parameters in the order of declaration. Output, M.derive:
--   tensors      the tensors in the order of the struct `parameters`, each with:
--     name            its name in files
--     rank            the number of its dimensions
--     shape           the list of its dimensions
--     shape_text      this list as text, such as "64, 192"
--     init            the C constant of its kind of initial values, such as "LH_INIT_UNIFORM"
--     value           the number that the kind needs (initial.lua); for given initial values, the index of the first in
--                     initial_values
--     learned         whether training changes it; other tensors are frozen
--     offset          the index of its first element in the parameter vector
--     stride          the number of elements from the start of a row to the start of the next row
--   structs      one for each block, then one for the network:
--     name, struct_name  the C type (both fields)
--     gradients_type  the C type of its gradients
--     lines           its members as lines of C, such as "real norm1_scale[WIDTH], norm1_offset[WIDTH];"
--     block           the block's name; false for the network
--     article         "a" or "an" before the block's name; false for the network
--     count           the C constant for the number of such structs; false for the network
--     struct_count    the number of such structs
--     last_pass_start   see builder.lua; false for the network
--     panels          the list of the weights that are also stored in panels, the layout that products read:
--       name                  the name of the weight
--       rows, columns         the numbers of rows and columns as C text
--       sizes                 the list of these two numbers
--       has_transposed_copy   whether there is a second, transposed copy
--       elements              the number of elements of all copies
--       elements_text         the number of elements of one copy, as text
--     product_panels  the entries of `panels` for weights of products
--     maps            the entries of `panels` for maps of relative positions
--     shard_sums      the learned members whose gradients each shard sums itself: all members except weights of
--                     products, maps of relative positions and `table_members`
--       lines           the declarations of these members as lines of C
--       members         a list { name, size, type } of these members
--     table_members   a list { name, size } of the learned members that a step reads from tables, such as a table of
--                     vectors of distances. In device code, the function end_tables computes gradients of these members
--                     from gradients of the tables
--   elements     the number of elements of the struct `parameters`
--   storage      the number of elements of the parameter vector: `elements` rounded up to whole chunks
--   count        the number of elements of learned tensors
--   frozen       the number of elements of frozen tensors
--   initial_values   the given initial values as text, separated by commas; false if there are none

local initial = require("network.graph.initial")
local lists = require("base.lists")
local wording = require("base.wording")

local M = {}

local CHUNK = 4096 -- LH_CHUNK
-- A member joins the line of the previous member if that line has fewer than GROUP_COLUMNS columns, and the joined line
-- with its comment has fewer than LINE_COLUMNS columns.
local GROUP_COLUMNS, LINE_COLUMNS = 90, 108

local function count_elements(shape)
  return shape[1] * (shape[2] or 1)
end

local function make_matrix(name, rows, columns)
  return { name = name, size = rows.text .. " * " .. columns.text, elements = rows.count * columns.count }
end

local function make_vector(name, width, shares_line)
  return { name = name, size = width.text, elements = width.count, shares_line = shares_line }
end

-- Functions, by the kind of a parameter p, that return two lists: the members of the C struct for p, and its tensors.
-- Fields of p for several kinds:
--   rows, columns   the widths of its matrix or vector (builder.lua)
--   init            a scheme of initial values (initial.lua)
--   path            the start of the names of its tensors
--   frozen          true: training does not change it
--   is_read_from_tables   true: a step reads it from tables, as the members in `table_members`
-- Fields of a member:
--   name          its name
--   size          the number of its elements, as C text
--   elements      the number of its elements
--   type          its C type if it is no array of numbers, else nil
--   shares_line   whether it joins the line of the previous member, if there is space
-- Fields of a tensor:
--   name, shape   see M.derive
--   init          its initial values (initial.lua)
--   stride        see M.derive; by default the size of its last dimension
--   member        the member that holds it; a member can hold several tensors
--   column        the index of its first element in the member, by default 0
--   frozen        true: training does not change it
local forms = {}

-- y = x W + b: one or several weights [in][out], side by side; then the biases. The options of Scope:product
-- (builder.lua) describe the fields of p. p.widths: the number of columns of each weight, if these numbers differ.
function forms.weight(p)
  local rows, columns, column = p.rows.count, p.columns.count, 0
  local members, tensors = { make_matrix(p.name, p.rows, p.columns) }, {}
  members[2] = p.bias and make_vector(p.name .. "_bias", p.columns, true) or nil
  for i, name in ipairs(p.tensors) do
    local width = p.widths and p.widths[i] or p.unpadded_count or p.width.count
    tensors[i] = { name = name .. ".weight", shape = { rows, width }, stride = columns, member = members[1],
      init = p.init.weight(rows, p.fan_out or width, p.attention_part), column = column }
    tensors[#p.tensors + i] = p.bias and { name = name .. ".bias", shape = { width }, column = column,
      init = p.init.bias(rows, p.attention_part), member = members[2] } or nil
    column = column + (p.widths and width or p.width.count)
  end
  return members, tensors
end

function forms.norm(p)
  local members, shape = { make_vector(p.name .. "_scale", p.columns) }, { p.columns.count }
  local tensors = { { name = p.path .. ".scale", shape = shape, init = initial.ALL_ONE, member = members[1] } }
  if p.norm == "layer" then
    members[2] = make_vector(p.name .. "_offset", p.columns, true)
    tensors[2] = { name = p.path .. ".offset", shape = shape, init = initial.ALL_ZERO, member = members[2] }
  end
  return members, tensors
end

function forms.table(p)
  local rows, columns, member = p.rows.count, p.columns.count, make_matrix(p.name, p.rows, p.columns)
  return { member }, { { name = p.tensor, shape = { rows, columns }, init = p.table_init or p.init.token(rows, columns),
    member = member, frozen = p.frozen } }
end

-- A weight with a bias. columns: the width of the matrix in C; it may exceed the tensors' width, to fill whole vectors.
local function make_affine(p, path, columns)
  local rows, width = p.rows.count, p.columns.count
  local weight, bias = make_matrix(p.name, p.rows, columns), make_vector(p.name .. "_bias", columns, true)
  return { weight, bias }, {
    { name = path .. ".weight", shape = { rows, width }, init = p.init.weight(rows, width), stride = columns.count,
      member = weight },
    { name = path .. ".bias", shape = { width }, init = p.init.bias(rows), member = bias },
  }
end

-- `linear`: the map of one-hot tokens, with a row for each token that is not blank. `output`: the output layer, with
-- whole vectors of columns.
forms.linear = function(p) return make_affine(p, p.path, p.columns) end
forms.output = function(p) return make_affine(p, p.name, p.columns.padded) end

-- A parameter of a facet of attention (attention.lua). The items of p.tensors are lists { name, shape, init }.
function forms.facet(p)
  local member = { name = p.name, size = p.size, type = p.type, shares_line = p.shares_line }
  local tensors, elements = {}, 0
  for i, t in ipairs(p.tensors) do
    tensors[i] = { name = t[1], shape = t[2], init = t[3], column = elements, member = member }
    elements = elements + count_elements(t[2])
  end
  member.elements = p.elements or elements
  return { member }, tensors
end

forms.map = forms.facet

-- Adds a parameter's initial values to initial_values; returns the index of the first value. Parameters with equal
-- names and values share one copy of the values, for example in all layers. parameter: a learned parameter of a score
-- (facets/score.lua).
local function place_values(state, parameter)
  local key = parameter.name .. " " .. parameter.values_text
  if not state.value_starts[key] then
    state.value_starts[key] = state.value_count
    state.value_count = state.value_count + parameter.count
    state.initial_values = (state.initial_values and state.initial_values .. ", " or "") .. parameter.values_text
  end
  return state.value_starts[key]
end

-- Adds a tensor. prefix: the start of its name; starts: member -> index of its first element in the parameter vector.
local function add_tensor(state, prefix, tensor, starts)
  state.tensors[#state.tensors + 1] = {
    name = prefix .. tensor.name,
    rank = #tensor.shape,
    shape = tensor.shape,
    shape_text = table.concat(tensor.shape, ", "),
    offset = starts[tensor.member] + (tensor.column or 0),
    stride = tensor.stride or tensor.shape[#tensor.shape],
    init = "LH_INIT_" .. tensor.init.kind:upper(),
    value = tensor.init.parameter and place_values(state, tensor.init.parameter) or tensor.init.value,
    learned = not tensor.frozen,
  }
  local counter = tensor.frozen and "frozen" or "count"
  state[counter] = state[counter] + count_elements(tensor.shape)
end

local function add_parameter(state, prefix, p)
  local members, tensors = forms[p.kind](p)
  local starts = {}
  for _, member in ipairs(members) do
    starts[member] = state.offset
    state.offset = state.offset + member.elements
  end
  for _, tensor in ipairs(tensors) do
    add_tensor(state, prefix, tensor, starts)
  end
end

local function add_scope(state, prefix, scope)
  for _, p in ipairs(scope.parameters) do
    if p.kind == "block" then
      for i = 0, p.block.count - 1 do
        add_scope(state, prefix .. p.block:get_path(i), p.block)
      end
    else
      add_parameter(state, prefix, p)
    end
  end
end

-- Returns the comment of a parameter's members, or nil. The comment of several weights states their numbers of columns.
local function describe(p)
  if p.kind ~= "weight" or #p.tensors == 1 then
    return p.comment
  end
  local column_texts = lists.map(p.tensors, function(name, i)
    return ("%s %s"):format(name:match("[%w_]+$"), p.widths and p.widths[i] or p.width.text)
  end)
  return ("[%s][%s]"):format(p.rows.text, table.concat(column_texts, " | "))
end

local function write_declaration(member)
  return member.type and ("%s %s"):format(member.type, member.name) or ("%s[%s]"):format(member.name, member.size)
end

local function list_members(p)
  return (forms[p.kind](p))
end

-- Lists the members whose gradients each shard sums itself.
local function list_shard_members(p)
  if p.is_read_from_tables or p.frozen or p.kind == "map" then
    return {}
  end
  local members = list_members(p)
  if p.kind == "weight" then
    return { members[2] } -- the bias; products over the batch compute the weight's gradient
  end
  return members
end

-- Writes the lines of a scope's struct, `real a[..], b[..]; /* comment */`.
--   list_selected   a function that returns the members of a parameter
--   type_field      the name of a block's field: the C type of its struct
--   count_field     the name of a block's field: the number of its structs
local function write_lines(scope, list_selected, type_field, count_field)
  local lines = {}
  for _, p in ipairs(scope.parameters) do
    if p.kind == "block" then
      local is_empty = list_selected == list_shard_members -- C has no empty structs
        and not lists.any(p.block.parameters, function(inner) return #list_shard_members(inner) > 0 end)
      lines[#lines + 1] = not is_empty and { text = ("%s %s[%s];"):format(p.block[type_field], p.block.name,
        p.block[count_field]) } or nil
    else
      for _, member in ipairs(list_selected(p)) do
        local line = lines[#lines]
        local joined_text = member.shares_line and line and line.is_real
          and ("%s, %s;"):format(line.text:sub(1, -2), write_declaration(member))
        if joined_text and #line.text < GROUP_COLUMNS and #joined_text + #(line.comment or "") < LINE_COLUMNS then
          line.text = joined_text
        else
          lines[#lines + 1] = { text = ("%s%s;"):format(member.type and "" or "real ",
            write_declaration(member)), is_real = not member.type }
        end
        lines[#lines].comment = lines[#lines].comment or describe(p)
      end
    end
  end
  return lists.map(lines, function(line)
    return line.text .. (line.comment and (" /* %s */"):format(line.comment) or "")
  end)
end

-- Lists the panels of a scope. Weights of products have two copies, one of them transposed. Maps of relative positions
-- have one copy.
local function list_panels(scope)
  return lists.map(scope.parameters, function(p)
    local is_weight = p.kind == "weight"
    return (is_weight or p.kind == "map") and { name = p.name, rows = p.rows.text, columns = p.columns.text,
      elements_text = ("%s * %s"):format(p.columns.text, p.rows.text), has_transposed_copy = is_weight,
      sizes = { p.rows.count, p.columns.count },
      elements = p.columns.count * p.rows.count * (is_weight and 2 or 1) } or nil
  end)
end

-- The field shard_sums of an entry of `structs`.
local function describe_shard_sums(scope)
  local members = lists.collect(scope.parameters, function(p)
    return p.kind == "block" and {} or list_shard_members(p)
  end)
  return { lines = write_lines(scope, list_shard_members, "gradients_type", "repetitions_text"),
    members = lists.map(members, function(member)
      return { name = member.name, size = member.size, type = member.type or false }
    end) }
end

-- The field table_members of an entry of `structs`.
local function list_table_members(scope)
  local members = lists.collect(scope.parameters, function(p)
    return p.is_read_from_tables and not p.frozen and list_members(p) or {}
  end)
  return lists.map(members, function(member) return { name = member.name, size = member.size } end)
end

-- Returns an entry of `structs`; see M.derive for the arguments.
local function describe_struct(scope, name, gradients_type, block, count)
  local panels = list_panels(scope)
  local product_panels = lists.map(panels, function(panel) return panel.has_transposed_copy and panel or nil end)
  local maps = lists.map(panels, function(panel) return not panel.has_transposed_copy and panel or nil end)
  return { name = name, struct_name = name, gradients_type = gradients_type, block = block,
    article = block and wording.choose_article(block), count = count, struct_count = scope.count, panels = panels,
    product_panels = product_panels, maps = maps,
    lines = write_lines(scope, list_members, "parameters_type", "count_name"),
    shard_sums = describe_shard_sums(scope), table_members = list_table_members(scope),
    last_pass_start = scope.last_pass_start or false }
end

-- Returns the number of learned elements of a parameter.
function M.count(p)
  local _, tensors = forms[p.kind](p)
  return lists.sum(tensors, function(tensor)
    return tensor.frozen and 0 or count_elements(tensor.shape)
  end)
end

function M.derive(net)
  -- value_starts: name and values of a parameter, as one text -> the index of its first value in initial_values;
  -- value_count: the number of values in initial_values so far
  local state = { tensors = {}, offset = 0, count = 0, frozen = 0, value_starts = {}, value_count = 0,
    initial_values = false }
  add_scope(state, "", net)
  local structs = lists.map(net.scopes, function(block)
    return not block.is_group and describe_struct(block, block.parameters_type, block.gradients_type, block.name,
      block.count_name) or nil
  end)
  local NO_BLOCK, NO_COUNT = false, false
  structs[#structs + 1] = describe_struct(net, "parameters", "gradients", NO_BLOCK, NO_COUNT)
  return { tensors = state.tensors, structs = structs, elements = state.offset,
    storage = (state.offset + CHUNK - 1) // CHUNK * CHUNK, count = state.count, frozen = state.frozen,
    initial_values = state.initial_values }
end

return M
