-- Alphabets of dataset files that the spec does not list, and the symbol that ends targets.

local support = dofile("tests/lua/support.lua")

local data_shapes = require("lab.study.read.data_shapes")
local file_symbols = require("spec.task.file_symbols")
local input = require("base.input")
local lu = require("luaunit")
local plan_module = require("plan.plan")
local run_shapes = require("lab.study.read.run_shapes")
local shapes = require("lab.study.read.shapes")
local write = require("base.write")

TestSymbols = {}

local function read(text, has_one_output)
  return file_symbols.read(support.write("examples.txt", text), has_one_output)
end

function TestSymbols.test_words_and_characters()
  lu.assertEquals(read("jump twice\tJUMP JUMP\r\nwalk\tWALK\n"), { input = { "jump", "twice", "walk" },
    output = { "JUMP", "WALK" } })
  lu.assertEquals(read("\xef\xbb\xbf12+é\t3\n10\t10\n"), { input = { "0", "1", "2", "+", "é" },
    output = { "0", "1", "3" } })
  lu.assertEquals(read("target\tinput\tsource\n1\ta b\tx y\n"), { input = { "a", "b" }, output = { "1" } })
  lu.assertEquals(read("\nIN: run OUT: RUN\nIN: run twice OUT: RUN RUN\n"), { input = { "run", "twice" },
    output = { "RUN" } })
end

function TestSymbols.test_a_class_is_one_symbol()
  lu.assertEquals(read("ab\teven\nb\todd\n", true), { input = { "a", "b" }, output = { "even", "odd" } })
  lu.assertEquals(read('{"input":"ab","target":"even"}\n', true), { input = { "a", "b" }, output = { "even" } })
end

function TestSymbols.test_lists_of_json()
  lu.assertEquals(read('{"input":["b","10","9"],"target":[2,0]}\n'), { input = { "9", "10", "b" },
    output = { "0", "1", "2" } })
  lu.assertEquals(read('{"input":["a","b"],"target":[null,"x",null]}\n'), { input = { "a", "b" }, output = { "x" } })
  lu.assertEquals(read('{"input":"b a","target":"x"}\n{"input":["c"],"target":"yz"}\n'), { input = { "a", "b", "c" },
    output = { "x", "y", "z" } })
end

function TestSymbols.test_problems_name_the_line()
  -- { text of the file, what the message found (nil if the file is valid), line of the message }
  local cases = { { "no example\n", "a line that is not an example", 1 }, { "a\tb\n\n", nil },
    { '{"input":[1],"target":[1]}\n{"input":\n', "no JSON", 2 }, { "IN: a OUT: b\nIN: a\n", nil, 2 },
    { '{"input":[1,"a"],"target":[1]}\n', "both names and numbers as tokens" },
    { '{"input":[null],"target":[1]}\n', "tokens that are neither texts nor numbers from 0 to 65535", 1 },
    { '{"input":[0.5],"target":[1]}\n', "tokens that are neither texts nor numbers from 0 to 65535", 1 },
    { '{"input":[65536],"target":[1]}\n', "tokens that are neither texts nor numbers from 0 to 65535", 1 },
    { "", "no examples" } }
  for i, case in ipairs(cases) do
    local symbols, problem = read(case[1])
    lu.assertEquals(symbols == nil, case[2] ~= nil or case[3] ~= nil, i)
    lu.assertEquals(problem and problem.line, case[3], i)
    lu.assertTrue(not case[2] or problem.found == case[2], i)
  end
  lu.assertEquals(select(2, file_symbols.read("/nowhere")).found, "no such file")
end

-- Returns the lines of a file; nil and the problem if the file is damaged.
local function list_lines(path, max_bytes)
  local file, lines = assert(input.open_lines(path, max_bytes)), {}
  for line in file:lines() do
    lines[#lines + 1] = line
  end
  local is_whole, problem = file:close()
  return is_whole and lines, problem
end

-- A compressed file has the lines of its unpacked form; a compressed file that is cut short, or that no program can
-- unpack, is an error.
function TestSymbols.test_compressed_files()
  local text = '{"input":["1","0"],"target":["1"]}\n{"input":["+"],"target":["x"]}\n'
  local path = support.write("examples.txt", text)
  local function pack() os.execute(("gzip -nf <%s >%s.gz"):format(path, path)) end
  pack()
  lu.assertEquals(file_symbols.read(path .. ".gz"), { input = { "0", "1", "+" }, output = { "1", "x" } })
  lu.assertEquals(data_shapes.read(path .. ".gz", {}, {}).count, 2)
  local packed_bytes = write.read(path .. ".gz")
  for _, damaged_bytes in ipairs({ packed_bytes:sub(1, -2), packed_bytes:sub(1, 12), packed_bytes .. "x" }) do
    lu.assertEquals(select(2, read(damaged_bytes)).found, "a truncated or damaged gzip file")
    lu.assertNil(data_shapes.read(path, {}, {}))
  end
  support.write("examples.txt", ("a\n\n"):rep(50000) .. ("long"):rep(200000) .. "\nlast") -- more than a block
  pack()
  local lines = list_lines(path, 1 << 20)
  lu.assertEquals({ #lines, list_lines(path .. ".gz", 950005) }, { 100002, lines })
  lu.assertEquals({ list_lines(path .. ".gz", 950004) }, { nil, { found = "more unpacked bytes",
    expected = "at most 950004" } })
end

local SPEC = [[return { task = { data = "examples.txt", %s }, encoding = { kind = "none" },
  model = { kind = "decoder", layers = 1, heads = 1, width = 16 }, train = { batch = 4, steps = 9 } }]]

local function check(more_fields, examples)
  support.write("examples.txt", examples or "a b\tb\n")
  local resolved, info, d = support.check_text(SPEC:format(more_fields))
  return resolved, info, d:text()
end

local function refuse(text, more_fields, examples)
  local resolved, _, message = check(more_fields, examples)
  lu.assertNil(resolved)
  lu.assertStrContains(message, text)
end

function TestSymbols.test_an_end_symbol_joins_the_alphabet_of_the_file()
  local resolved, info = check('end_symbol = "."')
  lu.assertEquals({ resolved.task.input_symbols, resolved.task.output_symbols }, { { "a", "b" }, { "b", "." } })
  local plan = assert(plan_module.build(resolved, info))
  lu.assertTrue(plan.task.has_end_symbol)
  lu.assertNotEquals(plan.digest, assert(plan_module.build(check('output_symbols = { "b", "." }'))).digest)
  refuse('task.end_symbol: "." is not a symbol of targets', 'end_symbol = ".", output_symbols = { "b" }')
end

-- The resolved spec states the size of a long alphabet of numbers, and generated code has no list of its names.
function TestSymbols.test_long_alphabets_of_numbers_are_not_listed()
  local resolved, info, message = check("input_symbols = 4097, output_symbols = 4096")
  lu.assertNotNil(resolved, message)
  lu.assertEquals({ resolved.task.input_symbols, #resolved.task.output_symbols }, { 4097, 4096 })
  local plan = assert(plan_module.build(resolved, info))
  lu.assertEquals({ plan.task.input_names, plan.task.output_names }, { "lh_number_names", "output_symbols" })
  lu.assertEquals(check("", '{"input":[4096],"target":[1]}\n').task.input_symbols, 4097)
  local words = {}
  for i = 0, 4096 do
    words[i + 1] = i == 9 and "nine" or tostring(i)
  end
  resolved = check("output_symbols = 2", table.concat(words, " ") .. "\t1\n")
  lu.assertEquals(#resolved.task.input_symbols, 4097)
end

-- The spec of a run states a long alphabet of numbers by its size.
function TestSymbols.test_alphabets_are_lists_or_sizes()
  for symbols, is_sound in pairs({ ['["a","b"]'] = true, ["4097"] = true, ["4096"] = false, ["65001"] = false }) do
    local spec = input.decode(('{"task":{"symbols":%s},"model":{},"train":{},"eval":{}}'):format(symbols))
    lu.assertEquals(shapes.find_problem(spec, run_shapes.spec) == nil, is_sound, symbols)
  end
end

function TestSymbols.test_tokens_have_16_bits()
  lu.assertNotNil(check("input_symbols = 30000, output_symbols = 35534"))
  lu.assertNotNil(check("symbols = 65000"))
  refuse("30000 input and 35535 output symbols", "input_symbols = 30000, output_symbols = 35535")
end

function TestSymbols.test_the_alphabet_of_a_file_is_one_that_a_spec_may_list()
  refuse('examples.txt has the symbol "\\""', "", 'a\t"\n')
  local words = {}
  for i = 1, 65001 do
    words[i] = "w" .. i
  end
  refuse("has 65001 symbols", 'end_symbol = "."', "a\t" .. table.concat(words, " ") .. "\n")
end

function TestSymbols.test_one_alphabet_for_both_sides()
  local resolved, info = check('symbols = { "a", "b", "c" }')
  local plan = assert(plan_module.build(resolved, info))
  lu.assertTrue(plan.task.has_shared_symbols)
  lu.assertEquals({ plan.task.input_count, plan.task.output_count }, { 3, 3 })
  refuse("cannot be used with task.symbols", "symbols = 3, input_symbols = 3")
end

support.run()
