-- Masks of a plan as a picture, or as text where gnuplot is missing: the verb `plan --mask`.
--
-- Input, from verbs.lua:
--   open   a function that returns the spec with its plan, or nil and an exit code
--   say    a function that prints a text
--   out    the file of the picture; nil: <id of the spec>.svg
-- Output: an exit code and a message. Masks are those of the longest training sequences, up to MAX_TOKENS tokens.

local draw = require("lab.study.report.figures.draw")
local heat = require("lab.study.report.figures.heat")
local lists = require("base.lists")
local masks = require("lab.pages.masks")
local panels = require("lab.study.report.figures.panels")
local stop = require("lab.stop")
local write = require("base.write")

local M = {}

local MAX_TOKENS = 400 -- maximum count of queries, and of keys
local PANEL = 220 -- pixels
local ENVIRONMENT = 4

-- Returns a list with an element for each attention: a list of heads { title, rows (masks.list_cells) }, with the field
-- `label`, the attention's name.
local function list_masks(plan)
  return lists.map(plan.attentions, function(family)
    local queries, keys = plan.streams[family.queries.stream + 1], plan.streams[family.keys.stream + 1]
    local heads = masks.list_cells(family, math.min(queries.longest, MAX_TOKENS), math.min(keys.longest, MAX_TOKENS))
    return lists.append({ label = family.title }, lists.map(heads, function(rows, h)
      return { title = heads[2] and ("head %d"):format(h - 1) or "all heads", rows = rows }
    end))
  end)
end

local function make_picture(id, attentions)
  return panels.make_script({ name = "mask", title = "Masks of " .. id, panel_height = PANEL,
    note = "queries down, keys right; hidden pairs are white", rows = lists.map(attentions, function(attention)
      return lists.append({ label = attention.label }, lists.map(attention, function(head)
        return heat.draw_cells(head.title, head.rows, #head.rows[1])
      end))
    end) })
end

local function format_text(attentions)
  return table.concat(lists.collect(attentions, function(attention)
    return lists.map(attention, function(head)
      return ("%s, %s\n"):format(attention.label, head.title) .. table.concat(lists.map(head.rows, function(row)
        return table.concat(lists.map(row, function(cell) return cell and ("%g"):format(cell) or "." end), " ")
      end), "\n")
    end)
  end), "\n\n")
end

function M.run(options)
  local spec, code = options.open()
  if not spec then
    return code
  end
  local attentions = list_masks(spec.plan)
  local pictures, problem = draw.run({ { path = "mask.gnuplot", text = make_picture(spec.id, attentions) } },
    { "mask" })
  if not pictures then
    options.say(format_text(attentions))
    return ENVIRONMENT, "longhand plan: " .. problem
  end
  local path = options.out or spec.id .. ".svg"
  local picture = lists.find(pictures, function(file) return file.path == "mask." .. path:match("%a+$") end)
  stop.must(ENVIRONMENT, write.file(path, picture.text))
  options.say(path)
  return 0
end

return M
