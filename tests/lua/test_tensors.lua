-- The reader of safetensors files, on files of the reference, on its own output, and on damaged bytes.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local safetensors = require("base.safetensors")
local trace_sites = require("lab.study.read.trace_sites")

local REFERENCE = "tests/reference/rand_relative.safetensors"

TestTensors = { tearDown = support.clean }

local function make_file(header, data)
  return string.pack("<I8", #header) .. header .. data
end

local function refuse(bytes, expected_words)
  local path = support.write("bad.safetensors", bytes)
  local opened, message = safetensors.open(path)
  lu.assertNil(opened)
  lu.assertStrContains(message, path)
  lu.assertStrContains(message, expected_words)
end

function TestTensors.test_a_file_of_another_program_is_read()
  local file = safetensors.open(REFERENCE)
  lu.assertEquals(file.metadata.encoding, "rand_relative")
  lu.assertEquals(file.entries["embed.token.weight"].shape, { 7, 16 })
  local distances, shape = safetensors.read(file, "data.n5.drawn")
  lu.assertEquals(shape, { 1, 10 })
  lu.assertEquals(distances[1], 0)
  for i = 2, 10 do
    lu.assertTrue(math.type(distances[i]) == "integer" and distances[i] > distances[i - 1] and distances[i] < 64)
  end
  local logits = safetensors.read(file, "result.n1.logits")
  lu.assertEquals(#logits, 3 * 1 * 5)
  local slice = safetensors.read(file, "result.n1.logits", 4, 3)
  lu.assertEquals(slice, { logits[5], logits[6], logits[7] })
end

function TestTensors.test_header_of_a_new_file_has_keys_in_order()
  local bytes = safetensors.make_file({ { name = "b", shape = { 1 }, values = { 1 } }, { name = "a", shape = { 1 },
    values = { 2 } } }, { seed = "1", task = "x", length = "3", depth = "2" })
  lu.assertStrContains(bytes, '{"__metadata__":{"depth":"2","length":"3","seed":"1","task":"x"},"b":{')
end

-- Tensors in the file are not in alphabetical order, and n70 is a second length.
function TestTensors.test_sites_of_a_trace_are_in_the_order_of_the_file()
  local list = {}
  for i, name in ipairs({ "n7.tokens.source", "n7.tokens.target", "n7.memory", "n7.encoder.0.attention",
    "n7.encoder.0.entropy", "n7.input", "n7.decoder.0.scores", "n7.decoder.0.attention", "n7.cross.0.attention",
    "n7.decoder.0.output", "n70.tokens", "n70.embedding" }) do
    list[i] = { name = name, shape = { 1 }, values = { i } }
  end
  local trace = assert(safetensors.open(support.write("trace.safetensors", (safetensors.make_file(list, {})))))
  lu.assertEquals(trace_sites(trace, 7, "attention"), { "encoder.0", "decoder.0", "cross.0" })
  lu.assertEquals(trace_sites(trace, 7, "scores"), { "decoder.0" })
  lu.assertEquals(trace_sites(trace, 7, "entropy"), { "encoder.0" })
  lu.assertEquals(trace_sites(trace, 7, "activations"), { "memory", "input", "decoder.0.output" })
  lu.assertEquals(trace_sites(trace, 70, "activations"), { "embedding" })
  lu.assertEquals(trace_sites(trace, 8, "attention"), {})
end

function TestTensors.test_written_files_are_read_back()
  local values = {}
  for i = 1, 300 do
    values[i] = (i - 150) / 8
  end
  local bytes, begin = safetensors.make_file({ { name = "a", shape = { 3, 100 }, values = values },
    { name = "b", shape = { 1 }, values = { 0.5 } } }, { what = "a test" })
  local file = assert(safetensors.open(support.write("own.safetensors", bytes)))
  lu.assertEquals(file.data_start, begin)
  lu.assertEquals(begin % 8, 0)
  lu.assertEquals(file.names, { "a", "b" })
  lu.assertEquals(file.metadata, { what = "a test" })
  lu.assertEquals(safetensors.read(file, "a"), values)
  lu.assertEquals(safetensors.read(file, "b"), { 0.5 })
  local tensor, message = safetensors.read(file, "c")
  lu.assertNil(tensor)
  lu.assertStrContains(message, "no tensor c")
end

function TestTensors.test_damaged_files_are_refused()
  local contents = support.read(REFERENCE)
  refuse("", "cut short")
  refuse("1234567", "cut short")
  refuse(contents:sub(1, 100), "cut short")
  refuse(contents:sub(1, -2), "do not match its shape")
  refuse(make_file("{", ""), "not JSON")
  refuse(make_file('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', "12345678"), "a: bytes 0 to 4")
  refuse(make_file('{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}', "12345678"), "a: bytes 8 to 16 of 8")
  refuse(make_file('{"a":{"dtype":"F9","shape":[2],"data_offsets":[0,8]}}', "12345678"), "a: the dtype, shape")
  refuse(make_file('{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}', "12345678"), "a: bytes")
  lu.assertNil((safetensors.open("no/such/file")))
end

os.exit(lu.LuaUnit.run())
