-- Selection of cells of a study: STUDY:CELL,CELL and --only AXIS=VALUE.
--
-- Input: words of the command line; the axes of a study (study.lua); d, the diagnostics, which get the errors.
-- Output: nil and a message, or a choice:
--   cells   a list of ids; nil if no word names cells
--   only    a list of filters { axis, names (of values), word (the text after --only) }; nil without --only

local lists = require("base.lists")
local similar_names = require("base.similar_names")
local nodes = require("lab.study.grid.nodes")
local wording = require("base.wording")

local M = {}

-- Splits STUDY:CELL or STUDY:SCALE:CELL into the study, the scale or nil, and the text after the last colon.
function M.split(text)
  local argument, last = text:match("^(.*):([^:]*)$")
  local study, scale = argument:match("^(.*):([^:]*)$")
  return study or argument, scale, last
end

local function split_items(text)
  return lists.find_all(text .. ",", "([^,]*),")
end

-- Reads words that name one study or cells of it. Returns nil and a message, or a table:
--   study   a name or a path
--   scale   nil if the words name none
--   cells   a list of ids; nil if the words name none
-- A colon in a word for which is_file(word) is true is part of a path.
function M.parse_words(words, is_file)
  local selection
  for _, word in ipairs(words) do
    local study, scale, last = word, nil, nil
    if word:find(":", 1, true) and not is_file(word) then
      study, scale, last = M.split(word)
    end
    local cells = last and split_items(last)
    if not selection then
      selection = { study = study, scale = scale, cells = cells }
    elseif not cells or not selection.cells or study ~= selection.study or scale ~= selection.scale then
      return nil, ("found a second study: %s\n  expected: a single study, or words that name cells of the same study: "
        .. "STUDY:CELL,CELL"):format(word)
    else
      lists.append(selection.cells, cells)
    end
  end
  return selection
end

-- Parses the values of --only. Returns nil and a message if a value is invalid.
function M.parse_only(texts)
  local filters = {}
  for i, text in ipairs(texts) do
    local axis, values = text:match("^%s*([^=]-)%s*=%s*(.-)%s*$")
    if not axis or axis == "" or values == "" then
      return nil, ("--only %s: found no axis and value\n  expected: AXIS=VALUE, or AXIS=VALUE,VALUE"):format(text)
    end
    filters[i] = { axis = axis, names = split_items(values), word = text }
  end
  return filters
end

local function refuse_unknown(d, filter, name, kind, legal)
  d:add({ at = { set = "--only " .. filter.word },
    what = ("%s is not %s %s"):format(name, wording.choose_article(kind), kind), expected = table.concat(legal, ", "),
    hint = similar_names.make_hint(name, legal, "%s") })
end

-- Returns the selected values: { <axis> = { <value> = true } }. Several filters of an axis select all their values.
local function select_values(filters, axes, d)
  local names_by_axis, selected_values = {}, {}
  for _, axis in ipairs(axes) do
    names_by_axis[axis.name] = lists.get_names(axis.values)
  end
  for _, filter in ipairs(filters) do
    -- A filter of a grid from flags may name the axis by its whole field, such as model.width.
    local axis = names_by_axis[filter.axis] and filter.axis or filter.axis:match("[^.]*$")
    local legal = names_by_axis[axis]
    if not legal then
      refuse_unknown(d, filter, filter.axis, "axis of this study", lists.get_names(axes))
    end
    for _, name in ipairs(legal and filter.names or {}) do
      name = nodes.get_name(tonumber(name) or name)
      if not lists.has(legal, name) then
        refuse_unknown(d, filter, name, "value of the axis " .. axis, legal)
      end
      selected_values[axis] = selected_values[axis] or {}
      selected_values[axis][name] = true
    end
  end
  return selected_values
end

-- Returns a function is_chosen(point, id). It returns whether the cell with this point and this id is selected.
function M.make_filter(choice, axes, d)
  local selected_values = select_values(choice.only or {}, axes, d)
  return function(point, id)
    return nodes.has_values(axes, point, selected_values) and (not choice.cells or lists.has(choice.cells, id))
  end
end

-- Returns the words of a command line that make this choice. study: the word for the whole study.
function M.make_words(choice, study)
  return lists.append({ study .. (choice.cells and ":" .. table.concat(choice.cells, ",") or "") },
    lists.collect(choice.only or {}, function(filter) return { "--only", filter.word } end))
end

-- Reports unknown cells and an empty selection. study: { path, scales }; ids: the ids of all cells; count: the number
-- of selected cells.
function M.check(choice, study, ids, count, d)
  for _, id in ipairs(choice.cells or {}) do
    if not lists.has(ids, id) then
      d:add({ what = ("%s has no cell %s"):format(study.path, id), expected = "names of its axes' values, joined by _",
        hint = lists.has(study.scales, id) and ("%s is a scale: --scale %s"):format(id, id)
          or similar_names.make_hint(id, ids, "%s") })
    end
  end
  if count == 0 and next(choice) and d:count() == 0 then
    d:add({ what = ("%s has no cell that fits all selections"):format(study.path),
      expected = "values that occur together in a cell" })
  end
end

return M
