-- Masks of a plan, pair by pair, and as a picture: the output of `plan --mask`.
--
-- Input of M.list_cells: an attention of a plan (encoding_facets.lua), the numbers of queries T and of keys S. Output:
-- a list with the rows of each head, or of one head if all heads are equal; a row has, for each key, the value that the
-- head adds to the score, or false if the key is hidden. Input of M.draw: a plan. Output: the text of an SVG at the
-- longest lengths of training, up to 400 tokens. Queries, keys and heads are numbered from 0.

local lists = require("base.lists")
local pages = require("facets.pages")

local M = {}

-- Functions by the kind of mask: whether query i sees key j of S keys.
local sees = {
  none = function() return true end,
  causal = function(mask, i, j) return j <= i + mask.right end,
  window = function(mask, i, j) return j >= i - mask.left and j <= i + mask.right end,
  antidiagonal = function(mask, i, j, S)
    return j >= S + mask.low - mask.stride * i and j <= S + mask.high - mask.stride * i
  end,
}

-- Returns the largest value of a head's lines through query i and key j, 0 in an open corner; false if there is
-- neither. head: an item of mask.heads (facets/lines.lua).
local function find_line_value(mask, head, i, j, S)
  local value = false
  if mask.causal and j > i then
    return false
  elseif head.corner and i == 0 and j == S - 1 then
    return 0
  end
  for _, line in ipairs(head.lines) do
    if j == line.keys * S + line.first + line.step * i then
      value = math.max(value or line.value, line.value)
    end
  end
  return value
end

-- Makes a row from value(key). A query for which every key is hidden sees all keys; in a causal mask of lines, those up
-- to its own token.
local function make_row(mask, i, S, value)
  local row, open = {}, false
  for j = 0, S - 1 do
    row[j + 1] = value(j)
    open = open or row[j + 1] ~= false
  end
  for j = 0, open and -1 or S - 1 do
    row[j + 1] = not (mask.kind == "lines" and mask.causal and j > i) and 0
  end
  return row
end

function M.list_cells(family, T, S)
  local mask, heads = family.mask, {}
  for h = 1, (mask.heads or family.terms.by_head) and family.heads or 1 do
    heads[h] = {}
    for i = 0, T - 1 do
      heads[h][i + 1] = make_row(mask, i, S, function(j)
        if lists.any(pages, function(page) return page.hides and page.hides(family, h - 1, i, j, S) end) then
          return false -- another facet hides the pair
        elseif mask.kind == "lines" then
          return find_line_value(mask, mask.heads[h], i, j, S)
        end
        return sees[mask.kind](mask, i, j, S) and 0
      end)
    end
  end
  return heads
end

local MARGIN, TITLE, GAP = 12, 22, 14 -- pixels; TITLE: height of the line above a panel
local WIDEST, LARGEST = 240, 16 -- pixels of a panel's width, and of a cell, at most
local LONGEST = 400 -- the largest number of queries, and of keys, in a picture

local function choose_colour(value, least, largest)
  local share = largest > least and (value - least) / (largest - least) or 1
  return ("#%02x%02x%02x"):format(math.floor(190 - 160 * share + 0.5), math.floor(212 - 120 * share + 0.5),
    math.floor(240 - 70 * share + 0.5))
end

local function find_range(heads)
  local least, largest = math.huge, -math.huge
  for _, row in ipairs(lists.collect(heads, function(rows) return rows end)) do
    for _, value in ipairs(row) do
      least = value and math.min(least, value) or least
      largest = value and math.max(largest, value) or largest
    end
  end
  return least, largest
end

local function draw_rectangle(x, y, width, height, fill)
  return ('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>'):format(x, y, width, height, fill)
end

-- Adds a row's rectangles to the list `out`. at: the row's corner in pixels; cell: pixels; range: of all heads' values.
local function add_row(out, row, at, cell, range)
  local from = 1
  while from <= #row do
    local to = from
    while to < #row and row[to + 1] == row[from] do
      to = to + 1
    end
    if row[from] then
      out[#out + 1] = draw_rectangle(at.x + (from - 1) * cell, at.y, (to - from + 1) * cell, cell,
        choose_colour(row[from], range[1], range[2]))
    end
    from = to + 1
  end
end

local function add_panel(out, title, rows, x, y, cell, range)
  local width, height = #rows[1] * cell, #rows * cell
  out[#out + 1] = ('<text x="%d" y="%d">%s</text>'):format(x, y - 6, title)
  for i, row in ipairs(rows) do
    add_row(out, row, { x = x, y = y + (i - 1) * cell }, cell, range)
  end
  out[#out + 1] = ('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888"/>'):format(x, y, width, height)
end

-- Adds the panels of an attention's heads. Returns their width and height in pixels.
local function add_attention(out, family, y, T, S)
  local heads = M.list_cells(family, T, S)
  local cell = math.max(1, math.min(LARGEST, WIDEST // math.max(T, S)))
  local range = { find_range(heads) }
  local step = math.max(S * cell, 90) + GAP
  for h, rows in ipairs(heads) do
    local title = heads[2] and ("%s, head %d"):format(family.name, h - 1) or family.name
    add_panel(out, title, rows, MARGIN + (h - 1) * step, y + TITLE, cell, range)
  end
  return #heads * step - GAP, TITLE + T * cell
end

-- Draws queries from top to bottom, keys from left to right; hidden keys are white.
function M.draw(plan)
  local out, y, widest = {}, MARGIN, 0
  for _, family in ipairs(plan.attentions) do
    local queries, keys = plan.streams[family.queries.stream + 1], plan.streams[family.keys.stream + 1]
    local width, height = add_attention(out, family, y, math.min(queries.longest, LONGEST),
      math.min(keys.longest, LONGEST))
    y, widest = y + height + GAP, math.max(widest, width)
  end
  local width, height = widest + 2 * MARGIN, y - GAP + MARGIN
  return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
    .. 'font-family="sans-serif" font-size="12" shape-rendering="crispEdges">\n'):format(width, height, width, height)
    .. draw_rectangle(0, 0, width, height, "white") .. "\n" .. table.concat(out, "\n") .. "\n</svg>\n"
end

return M
