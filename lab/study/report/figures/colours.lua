-- The colour, dash and point of each encoding: the same in every picture.
--
-- Input: names of encodings, or the values of an axis. Output: { [name] = style }. A style:
--   colour   the colour on a light background, "#rrggbb"
--   dark     the colour on a dark background
--   dash     gnuplot's dash type of the line
--   point    gnuplot's number of the kind of point
-- Common encodings have reserved styles. A randomized form has a dashed line, and another colour than its plain form.
-- Other names take the remaining colours, then the same colours with other dashes.
-- No point is hollow: the curve would be visible inside the points, and in the first and last point on one side only.
-- The eight colours differ by at least 24 in CIE Lab, for normal sight and for the three dichromacies. Their contrast
-- with the page and with its shaded parts is at least 3 to 1. A test measures both.

local lists = require("base.lists")

local M = {}

M.LIGHT, M.DARK = "#eef1f6", "#262a33" -- shaded parts of the page, whose contrast with curves is lowest

local SOLID, DASHED = "solid", "(9,4)"
local DASHES = { DASHED, "(2,3)", "(12,3,2,3)", "(4,2)" }
local POINTS = { 1, 2, 3, 5, 7, 9, 11, 13 }

-- Rows: the colour on a light background, the colour on a dark background, the point of a solid line.
M.PALETTE = {
  { "#575063", "#ffffff", 1 }, { "#9a8800", "#dac987", 5 }, { "#3e51cb", "#807bcc", 7 }, { "#154928", "#45935e", 9 },
  { "#7d4e0d", "#b8761f", 11 }, { "#8200ff", "#ab5dfd", 13 }, { "#729159", "#a6ff67", 2 },
  { "#0595ae", "#5ec4dd", 3 },
}

-- The indices in M.PALETTE of an encoding's plain form and of its randomized form.
local PALETTE_INDICES = { none = { 1 }, sincos = { 2, 5 }, sinusoid = { 2, 5 }, relative = { 8, 3 }, alibi = { 7, 4 },
  rope = { 5, 6 }, learned = { 6, 1 }, geometric = { 3 } }

-- The Viridis palette, whose equal steps look equal.
M.VIRIDIS = { "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725" }
local SHADES = 5 -- the first 5 colours of Viridis are visible on a light background, the last 5 on a dark background

local function find_index(list, value)
  for i, item in ipairs(list) do
    if item == value then
      return i
    end
  end
end

-- Returns a style with the colours of an index in the palette. round: 0 for solid lines; each further round has other
-- dashes and points.
local function make_style(index, round)
  local colour, dark, point = table.unpack(M.PALETTE[index])
  return { colour = colour, dark = dark, dash = round == 0 and SOLID or DASHES[(round - 1) % #DASHES + 1],
    point = POINTS[(find_index(POINTS, point) + round - 1) % #POINTS + 1] }
end

-- Returns the style that is reserved for an encoding; nil if there is none.
local function find_style(name)
  local base, prefix_count = name:gsub("_", "-"):gsub("%-%d+$", ""):gsub("^rand%-", "")
  local index = (PALETTE_INDICES[base] or {})[prefix_count + 1]
  return index and make_style(index, prefix_count) -- a randomized form (one prefix) has the dash of round 1
end

-- Returns the styles of names. The reserved styles are assigned first: if two names have the same reserved style, the
-- first name gets it.
function M.choose_styles(names)
  local styles, used_styles, used_colours, count = {}, {}, {}, 0
  -- Assigns a style to a name if no other name has the style. needs_new_colour: whether the colour must be unused, too.
  -- Returns whether the style was assigned.
  local function assign(name, style, needs_new_colour)
    local style_key = style and style.colour .. style.dash .. style.point
    local is_free = style and not used_styles[style_key] and not (needs_new_colour and used_colours[style.colour])
    if is_free then
      styles[name], used_styles[style_key], used_colours[style.colour] = style, true, true
    end
    return is_free
  end
  local other_names = lists.filter(names, function(name) return not assign(name, find_style(name)) end)
  for _, name in ipairs(other_names) do
    local style
    repeat
      style, count = make_style(count % #M.PALETTE + 1, count // #M.PALETTE), count + 1
    until assign(name, style, count <= #M.PALETTE) or count > #M.PALETTE * 64
    styles[name] = style
  end
  return styles
end

function M.choose_style(name)
  return M.choose_styles({ name })[name]
end

-- Returns a colour of the Viridis palette. share: 0 for the most visible colour, 1 for the least visible of SHADES.
-- on_dark: whether the background is dark; then the most visible colour is the last of the palette, else the first.
local function mix_shade(share, on_dark)
  local position = 1 + (SHADES - 1) * share
  local low = math.min(math.floor(position), SHADES - 1)
  local from = M.VIRIDIS[on_dark and #M.VIRIDIS + 1 - low or low]
  local to = M.VIRIDIS[on_dark and #M.VIRIDIS - low or low + 1]
  return "#" .. from:sub(2):gsub("()(%x%x)", function(offset, digits)
    local a, b = tonumber(digits, 16), tonumber(to:sub(offset + 1, offset + 2), 16)
    return ("%02x"):format(math.floor(a + (b - a) * (position - low) + 0.5))
  end)
end

-- Returns styles for the values of an axis. If all values are numbers, the colours are shades of Viridis, ordered by
-- value; the smallest value has the most visible shade.
function M.choose_styles_along(names)
  local order, styles = lists.map(names, function(name) return tonumber(name) end), {}
  if #names < 2 or #order < #names then
    return M.choose_styles(names)
  end
  table.sort(order)
  for _, name in ipairs(names) do
    local rank = find_index(order, tonumber(name))
    local share = (rank - 1) / (#order - 1)
    styles[name] = { colour = mix_shade(share), dark = mix_shade(share, true), dash = SOLID,
      point = POINTS[(rank - 1) % #POINTS + 1] }
  end
  return styles
end

return M
