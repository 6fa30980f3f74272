-- Functions and structs of generated files equal the stored ones in tests/golden/sections, which reviewers read.
-- LH_UPDATE_GOLDEN=1 updates them.

local support = dofile("tests/lua/support.lua")

local cases = require("cases")
local lfs = require("lfs")
local lu = require("luaunit")

local GOLDEN, SECTIONS = "tests/golden/sections", cases.sections

TestSections = {}

-- Returns the text of a function or a struct, with the comment above it; nil if the file has no such name.
local function cut_section(text, name)
  local all_lines, out = {}, {}
  cases.each_line(text, function(line)
    all_lines[#all_lines + 1] = line
  end)
  for i, line in ipairs(all_lines) do
    if line:find("^%a") and (line:find("%f[%w_]" .. name .. "%(") or line:find("struct " .. name .. " {", 1, true)) then
      local first, last = i, i
      while first > 1 and all_lines[first - 1]:find("^[/ ]%*") do
        first = first - 1
      end
      while not all_lines[last]:find("^}") and not all_lines[last]:find("^%a.*}$") do
        last = last + 1
      end
      table.move(all_lines, first, last, 1, out)
      return table.concat(out, "\n") .. "\n"
    end
  end
end

-- entry: { name of the section, name of the case, path of the generated file, names of functions and structs }.
local function render_section(entry)
  local case, parts = cases.get_case(entry[2]), {}
  for i, name in ipairs(entry[4]) do
    parts[i] = assert(cut_section(case.text[entry[3]], name), ("%s: no %s in %s"):format(entry[1], name, entry[3]))
  end
  return table.concat(parts, "\n")
end

function TestSections.test_sections_are_the_golden_ones()
  for _, entry in ipairs(SECTIONS) do
    support.assert_golden(("%s/%s.txt"):format(GOLDEN, entry[1]), render_section(entry))
  end
end

function TestSections.test_every_golden_section_has_a_test_here()
  local known_files = { ["."] = true, [".."] = true }
  for _, entry in ipairs(SECTIONS) do
    known_files[entry[1] .. ".txt"] = true
  end
  for name in lfs.dir(GOLDEN) do
    lu.assertTrue(known_files[name], name .. " belongs to no section")
  end
end

support.run()
