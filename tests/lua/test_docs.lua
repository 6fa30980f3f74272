-- docs/encodings.md names what there is, and its first spec is the example's.

local support = dofile("tests/lua/support.lua")

local lfs = require("lfs")
local lu = require("luaunit")
local traced = require("expression.traced")

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local guide = read("docs/encodings.md")

TestEncodings = {}

local function rows_of_presets()
  local rows = {}
  for first in guide:match("## The presets\n(.-)\n## "):gmatch("\n| (`[^|]*) |") do
    for name in first:gmatch("`([%w_]+)`") do
      rows[name] = true
    end
  end
  return rows
end

function TestEncodings.test_the_table_has_the_presets()
  local rows = rows_of_presets()
  for file in lfs.dir("spec/encodings") do
    local name = file:match("^(.*)%.lua$")
    if name then
      lu.assertTrue(rows[name], name .. " is not in the table")
      rows[name] = nil
    end
  end
  lu.assertEquals(rows, {})
end

function TestEncodings.test_functions_and_symbols_are_named()
  local code = {}
  for span in guide:gmatch("`([^`\n]+)`") do
    for word in span:gmatch("[%w_]+") do
      code[word] = true
    end
  end
  for _, list in ipairs({ traced.names, traced.SYMBOLS }) do
    for _, name in ipairs(list) do
      lu.assertTrue(code[name], name .. " is not named")
    end
  end
end

-- The text without comments and blank lines.
local function bare(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    line = line:gsub("%s*%-%-.*$", "")
    if line:find("%S") then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n")
end

function TestEncodings.test_the_first_spec_is_the_example()
  lu.assertEquals(bare(guide:match("```lua\n(.-)\n```")), bare(read("examples/own_bias/own_bias.lua")))
end

support.run()
