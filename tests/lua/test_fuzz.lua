-- Runs ten thousand cases of fuzz_specs.lua, half of them in another process. Cases of fuzz_runs.lua write and read
-- folders, which takes longer; there are one fiftieth as many of them.
--
-- LH_FUZZ_SEED selects another seed, and LH_FUZZ_CASES another number of cases; a failure names its seed and its case.

local fuzz = dofile("tests/lua/fuzz_specs.lua")
local fuzz_runs = dofile("tests/lua/fuzz_runs.lua")
local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

local SEED = math.tointeger(tonumber(os.getenv("LH_FUZZ_SEED") or 1))
local CASES = math.tointeger(tonumber(os.getenv("LH_FUZZ_CASES") or 10000))

TestFuzz = {}

function TestFuzz.test_mutated_specs_end_in_files_or_messages()
  local half = CASES // 2
  local pipe = assert(io.popen(("%s tests/lua/fuzz_specs.lua --seed %d --first %d --cases %d 2>&1"):format(
    os.getenv("LUA") or "lua5.4", SEED, half + 1, CASES - half)))
  local result = fuzz.run(half, SEED, 1)
  local text = pipe:read("a")
  local succeeded = pipe:close()
  lu.assertEquals(table.concat(result.failures, "\n"), "")
  lu.assertTrue(succeeded, text)
  lu.assertStrContains(text, ("%d cases of seed %d from %d on"):format(CASES - half, SEED, half + 1))
  lu.assertTrue(result.refused > half // 4 and result.planned + result.rendered > half // 20,
    "too few cases are refused, or too few are planned")
  lu.assertTrue(half < 1000 or result.rendered > 0, "no case was rendered")
end

function TestFuzz.test_mutated_run_folders_end_in_pages_or_messages()
  local count = math.max(1, CASES // 50)
  local result = fuzz_runs.run(count, SEED, 1)
  lu.assertEquals(table.concat(result.failures, "\n"), "")
  lu.assertTrue(count < 100 or result.clean > count // 12 and result.damaged > count // 3,
    "too few folders are clean, or too few are damaged")
end

function TestFuzz.test_cases_are_reproducible()
  local first, first_sets = fuzz.make_case(7, 11)
  local again, again_sets = fuzz.make_case(7, 11)
  lu.assertEquals(again, first)
  lu.assertEquals(again_sets, first_sets)
  lu.assertNotEquals(fuzz.make_case(8, 11), first)
  lu.assertEquals(fuzz_runs.make_case(7, 11), fuzz_runs.make_case(7, 11))
  lu.assertNotEquals(fuzz_runs.make_case(8, 11), fuzz_runs.make_case(7, 11))
end

support.run()
