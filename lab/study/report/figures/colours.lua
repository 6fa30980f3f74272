-- The colour, dash and point of each encoding: the same in every picture.
--
-- Input: an encoding's name. Output: { colour = "#rrggbb", dash, point }, with gnuplot's numbers of dashes and points.
-- A randomized form has a stronger shade of its plain form's hue and a dashed line; every hue has its own point, so
-- that no two curves differ in hue alone. Points are filled or consist of strokes, since a hollow point would show the
-- curve inside it everywhere except at the curve's ends, which could be misread. The thirteen colours differ by at
-- least 13 in CIE Lab for normal sight and for the three dichromacies, and have a contrast of at least 2.4 to 1 with
-- white and near black; M.against raises the contrast to 3 to 1.

local canonical = require("base.canonical")
local lists = require("base.lists")

local M = {}

local SOLID, DASHED = "solid", "(9,4)"

local TABLE = {
  ["none"] = { "#666989", SOLID, 1 },
  ["sincos"] = { "#d1a000", SOLID, 5 },
  ["rand-sincos"] = { "#d24f00", DASHED, 5 },
  ["relative"] = { "#5697ee", SOLID, 7 },
  ["rand-relative"] = { "#005acf", DASHED, 7 },
  ["alibi"] = { "#6aa898", SOLID, 9 },
  ["rand-alibi"] = { "#00745f", DASHED, 9 },
  ["rope"] = { "#e79079", SOLID, 11 },
  ["rand-rope"] = { "#c10023", DASHED, 11 },
  ["learned"] = { "#d48bcd", SOLID, 13 },
  ["rand-learned"] = { "#7d48a3", DASHED, 13 },
  ["geometric"] = { "#bba64d", SOLID, 2 },
  ["rand-sincos-unsorted"] = { "#797544", "(2,3)", 3 },
}

-- Colours of names that the table lacks; the same name always gets the same colour.
local FURTHER = { "#5b6fd6", "#2f9e9e", "#a3663f", "#c2558a", "#5d8f3c", "#8a7bc8", "#b0852c", "#4c7f99", "#cc6b4e",
  "#6f9a6b" }
local POINTS = { 1, 2, 3, 5, 7, 9, 11, 13 }
local DASHES = { "(4,2)", "(12,3,2,3)", "(2,2)", SOLID }
local MOST_STYLES = #FURTHER * #POINTS * #DASHES

-- The Viridis palette without its lightest end, which is invisible on white.
local SHADES = { "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962" }

local ALIASES = { sinusoid = "sincos" }

-- The table's name of an encoding: "rand-sincos" for rand_sinusoid; a final number, as in relative-500, is dropped.
local function usual(name)
  name = name:gsub("_", "-"):gsub("%-%d+$", "")
  local prefix, base = name:match("^(rand%-)(.*)$")
  base = base or name
  return (prefix or "") .. (ALIASES[base] or base)
end

-- A small hash of a text: the 32-bit hash of Fowler, Noll and Vo.
local function hash(text)
  local value = 2166136261
  for i = 1, #text do
    value = ((value ~ text:byte(i)) * 16777619) & 0xffffffff
  end
  return value
end

local function channels_of(colour)
  return lists.map({ colour:match("^#(..)(..)(..)$") }, function(digits) return tonumber(digits, 16) end)
end

-- Interpolates between two colours; share: 0 for the first colour, 1 for the second.
local function mixed(from, to, share)
  return "#" .. table.concat(lists.map(from, function(value, channel)
    return ("%02x"):format(math.floor(value + (to[channel] - value) * share + 0.5))
  end))
end

-- The shade at a position between 1 and #SHADES.
local function blend(at)
  local low = math.min(math.floor(at), #SHADES - 1)
  return mixed(channels_of(SHADES[low]), channels_of(SHADES[low + 1]), at - low)
end

function M.of(name)
  name = usual(name)
  local entry = TABLE[name]
  if entry then
    return { colour = entry[1], dash = entry[2], point = entry[3] }
  end
  local number = hash(name)
  return { colour = FURTHER[number % #FURTHER + 1], dash = DASHES[number // 16 % #DASHES + 1],
    point = POINTS[number // 256 % #POINTS + 1] }
end

local function place_of(list, value)
  for i, one in ipairs(list) do
    if one == value then
      return i
    end
  end
  return 0
end

-- The style that is `step` positions after the style of a name: first all colours, then all colours with the next dash
-- and point. No combination repeats.
local function after(style, name, step)
  local round = (step - 1) // #FURTHER
  local shifted = { colour = FURTHER[(hash(name) + step) % #FURTHER + 1], dash = style.dash, point = style.point }
  if round > 0 then
    shifted.dash = DASHES[(place_of(DASHES, style.dash) + round) % #DASHES + 1]
    shifted.point = POINTS[(place_of(POINTS, style.point) + round + round // #POINTS) % #POINTS + 1]
  end
  return shifted
end

local function text_of(style)
  return ("%s %s %d"):format(style.colour, style.dash, style.point)
end

-- Styles of names in one figure, by name. A name whose colour is taken gets the next free colour; without a free
-- colour, it gets the next style that differs from all others in colour, dash or point.
function M.all(names)
  local styles, taken = {}, {}
  for _, name in ipairs(names) do
    local first = M.of(name)
    local style, step = first, 0
    while taken[step > #FURTHER and text_of(style) or style.colour] and step < MOST_STYLES do
      step = step + 1
      style = after(first, name, step)
    end
    taken[style.colour], taken[text_of(style)], styles[name] = true, true, style
  end
  return styles
end

-- Styles of the names of an axis; if all names are numbers, shades from dark to light in ascending order.
function M.along(names)
  local order, styles = lists.map(names, function(name) return tonumber(name) end), {}
  if #names < 2 or #order < #names then
    return M.all(names)
  end
  table.sort(order)
  for place, number in ipairs(order) do
    local at = 1 + (#SHADES - 1) * (place - 1) / (#order - 1)
    for _, name in ipairs(names) do
      if tonumber(name) == number then
        styles[name] = { colour = blend(at), dash = SOLID, point = POINTS[(place - 1) % #POINTS + 1] }
      end
    end
  end
  return styles
end

-- ---- contrast with the background ----

M.LIGHT, M.DARK = "#eef1f6", "#262a33" -- background of shaded parts of the page, whose contrast with curves is lowest

local CONTRAST = 3.05 -- least contrast of a graphical object: WCAG 2.2 (1.4.11), plus a margin for rounding
local STEPS = 64

-- The relative luminance as WCAG defines it.
local function luminance(channels)
  local sum = 0
  for channel, weight in ipairs({ 0.2126, 0.7152, 0.0722 }) do
    local share = channels[channel] / 255
    sum = sum + weight * (share <= 0.04045 and share / 12.92 or ((share + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

-- The contrast of two colours, from 1 to 21.
function M.contrast(one, other)
  local a, b = luminance(channels_of(one)), luminance(channels_of(other))
  return (math.max(a, b) + 0.05) / (math.min(a, b) + 0.05)
end

-- The nearest colour with enough contrast on a background: darker on a light background, lighter on a dark one.
function M.against(colour, ground)
  local aim = luminance(channels_of(ground)) > 0.5 and { 0, 0, 0 } or { 255, 255, 255 }
  local from, found, step = channels_of(colour), colour, 0
  while step < STEPS and M.contrast(found, ground) < CONTRAST do
    step = step + 1
    found = mixed(from, aim, step / STEPS)
  end
  return found
end

-- The names of the table, sorted.
function M.names()
  return canonical.sorted_keys(TABLE)
end

return M
