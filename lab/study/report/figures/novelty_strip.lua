-- The strip below a panel of scores by length: the shares of test sequences that are new to a model.
--
-- Input: a study with the results of its cells (cells.lua), a complete panel (curves.lua), the panel's lines, { cell,
-- style } each. Output: the strip, nil if nothing is new. A curve that several cells share is grey; any other curve has
-- its cell's colour.

local canonical = require("base.canonical")
local lists = require("base.lists")
local novel_shares = require("lab.study.report.tables.novel_shares")

local M = {}

M.CAPTION = ("Below: %s; new positions and new distances only where positions are indices; grey where encodings "
  .. "agree; no line where nothing is new"):format(novel_shares.DESCRIPTION)

local function make_style(style, dash)
  return { colour = style.colour, dark = style.dark, dash = dash }
end

local GREY = { colour = "#444444", dark = "#444444" }
-- Kinds of shares with their entries of the legend.
local KINDS = {
  { name = "positions", title = "new positions", style = make_style(GREY, "solid") },
  { name = "distances", title = "new distances", style = make_style(GREY, "(9,4)") },
  { name = "keys", title = "more keys", style = make_style(GREY, "(2,3)") },
}

-- Returns the points { length, percent } of a kind of shares; nil if all are 0.
local function list_points(shares, name)
  local points = lists.map(canonical.sort_keys(shares), function(length)
    return shares[length][name] and { length, 100 * shares[length][name] } or nil
  end)
  return lists.find(points, function(point) return point[2] > 0 end) and points or nil
end

local function make_curves(study, lines, kind)
  local curves = lists.map(lines, function(line)
    local points = list_points(novel_shares.find(study, line.cell), kind.name)
    return points and { points = points, style = line.style } or nil
  end)
  local groups = lists.group(curves, function(curve) return canonical.format(curve.points) end)
  return lists.map(groups, function(group)
    return { points = group[1].points, line = kind.title,
      style = make_style(group[2] and GREY or group[1].style, kind.style.dash) }
  end)
end

function M.make(study, panel, lines)
  local strip = { xlabel = panel.xlabel, ylabel = "novelty", x = panel.x, y = { 0, 100, step = 100 }, percent = true,
    marks = panel.marks, shade = panel.shade, curves = {}, legend = {} }
  for _, kind in ipairs(KINDS) do
    local curves = make_curves(study, lines, kind)
    lists.append(strip.curves, curves)
    strip.legend[#strip.legend + 1] = curves[1] and kind or nil
  end
  return strip.curves[1] and strip or nil
end

return M
