-- generator/spec/reading/locate.lua: positions of fields, and tokens that function bodies may not contain.

local support = dofile("tests/lua/support.lua")
local locate = require("spec.reading.locate")
local lu = require("luaunit")

TestLocate = {}

-- Returns the position of a field in the text of a spec, as "line:column".
local function read_origin(text, path)
  local place = locate.find_position(locate.find_fields(text), path)
  return place.line .. ":" .. place.col
end

function TestLocate.test_fields_in_nested_tables_and_lists_are_located()
  local text = "-- c\nreturn {\n  eval = { lengths = { list = { 40, 80, 400 } } },\n  a = 1\n}\n"
  lu.assertEquals(read_origin(text, ""), "2:8")
  lu.assertEquals(read_origin(text, "eval"), "3:3")
  lu.assertEquals(read_origin(text, "eval.lengths.list[3]"), "3:41")
  lu.assertEquals(read_origin(text, "a"), "4:3")
end

function TestLocate.test_fields_after_strings_and_comments_are_located()
  local text = [==[
return { -- } a comment, with { and "
  s = "a } \" -- no", t = 'its', --[[ long } ]] u = 1,
  long = [[ } , x = 3
]], ["quoted"] = 5; [2] = 7,
}]==]

  lu.assertEquals(read_origin(text, "t"), "2:23")
  lu.assertEquals(read_origin(text, "u"), "2:49")
  lu.assertEquals(read_origin(text, "quoted"), "4:5")
  lu.assertEquals(read_origin(text, "[2]"), "4:21")
end

function TestLocate.test_fields_after_expressions_and_functions_are_located()
  local text = [[
local function helper() return { x = 1 } end
return {
  f = function(x) if a then return { b = 1, c = 2 } end for i = 1, 2 do end return { d = 3 } end, g = (1 + 2) * 3,
  h = helper { y = 1 }, k = 2,
}]]
  lu.assertEquals(read_origin(text, "g"), "3:99")
  lu.assertEquals(read_origin(text, "k"), "4:25")
  lu.assertEquals(read_origin(text, "f.b"), "3:3")
end

function TestLocate.test_position_falls_back_to_the_surrounding_table()
  lu.assertEquals(read_origin("return {\n  a = base,\n}", "a.b.c[2].d"), "2:3")
  lu.assertEquals(read_origin("local t = {}\nreturn t", "a.b"), "2:1")
  lu.assertEquals(read_origin("", "a"), "1:1")
end

function TestLocate.test_invalid_texts_raise_no_error()
  for _, text in ipairs({ "return {", "return { a = ", "return { 'x", "return { [[x", "}{", "return { a = { b = 1 ",
    "\\",
    "return { [", "return { [1", "--[[", "return { f = function(", "0x", "return {a=1e" }) do
    lu.assertIsTable(locate.find_fields(text))
    lu.assertIsTable(locate.find_forbidden(text))
  end
end

function TestLocate.test_operators_are_forbidden_only_inside_functions()
  local text = [[
local wide = 3 > 2 and 4 or 5
return {
  f = function(x)
    -- if and or
    local s = "a < b"
    return x.a <= x.b
  end,
  g = not true,
}]]
  local found = locate.find_forbidden(text)
  lu.assertEquals(#found, 1)
  lu.assertEquals({ found[1].text, found[1].line, found[1].col }, { "<=", 6, 16 })
end

function TestLocate.test_each_operator_and_branch_is_forbidden_inside_functions()
  for _, code in ipairs({ "a < b", "a > b", "a <= b", "a >= b", "a == b", "a ~= b", "a and b", "a or b", "not a" }) do
    lu.assertEquals(#locate.find_forbidden("return function(a, b) return " .. code .. " end"), 1, code)
  end
  lu.assertEquals(#locate.find_forbidden("return function(a) if a then return 1 end return 2 end"), 1)
  lu.assertEquals(#locate.find_forbidden("return function(a) while a do a = a + 1 end end"), 1)
  lu.assertEquals(#locate.find_forbidden("return function(a) return (a << 2) ~ 3 // 4 .. a end"), 0)
end

function TestLocate.test_operators_after_the_end_of_a_function_are_allowed()
  local text = "local f = function(a) do local g = function() end end return a end local x = 1 < 2"
  lu.assertEquals(locate.find_forbidden(text), {})
end

function TestLocate.test_numbers_are_one_token()
  local words = {}
  for _, token in ipairs(locate.tokenise("1e-5+0x1p-2 .5 3..4")) do
    words[#words + 1] = token.text
  end
  lu.assertEquals(words[1], "1e-5")
  lu.assertEquals(words[2], "+")
  lu.assertEquals(words[3], "0x1p-2")
  lu.assertEquals(words[4], ".5")
end

support.run()
