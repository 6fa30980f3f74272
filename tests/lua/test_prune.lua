-- Removal of unused functions from a device text.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local prune = require("render.templates.prune")

TestPrune = {}

-- Returns the pruned text. If `text` has lines of several files, each of its lines begins with "FILE: ".
local function prune_text(text)
  local lines, map = {}, {}
  for line in text:gmatch("([^\n]*)\n") do
    local file, content = line:match("^(%l+):%s?(.*)$")
    lines[#lines + 1] = content or line
    map[#map + 1] = { { file or "one", #lines } }
  end
  local lines_left, places = prune.prune(lines, map)
  lu.assertEquals(#places, #lines_left)
  for index, place in ipairs(places) do
    lu.assertEquals(lines[place[1][2]], lines_left[index])
  end
  return table.concat(lines_left, "\n")
end

function TestPrune.test_called_functions_are_kept_with_their_callees()
  lu.assertEquals(prune_text([[
INLINE int inner(void) { return 1; }

/* Two lines
 * of comment. */
NOINLINE int outer(int a,
                   int b) {
    if (a) {
        return b;
    }
    return inner();
}

INLINE int nobody(void) { return outer(1, 2); }

void kernel(void) { outer(0, 0); }
]]), [[
INLINE int inner(void) { return 1; }

/* Two lines
 * of comment. */
NOINLINE int outer(int a,
                   int b) {
    if (a) {
        return b;
    }
    return inner();
}

void kernel(void) { outer(0, 0); }]])
end

function TestPrune.test_a_comment_is_kept_with_one_of_its_functions()
  local a, b = "INLINE int a(void) { return 1; }\n", "INLINE int b(void) { return 2; }\n"
  local text = "/* Both. */\n" .. a .. b .. "\nint x = %s();\n"
  lu.assertEquals(prune_text(text:format("a")), "/* Both. */\n" .. a .. "\nint x = a();")
  lu.assertEquals(prune_text(text:format("b")), "/* Both. */\n" .. b .. "\nint x = b();")
end

function TestPrune.test_a_name_in_a_comment_is_no_call()
  lu.assertEquals(prune_text("/* helper is\n * helper */\n\nINLINE int helper(void) { return 1; }\n\nint x;\n"),
    "/* helper is\n * helper */\n\nint x;")
end

function TestPrune.test_functions_that_only_call_each_other_are_removed()
  lu.assertEquals(
    prune_text("INLINE int a(int x) { return b(x); }\n\nINLINE int b(int x) { return a(x); }\n\nint x;\n"), "int x;")
end

function TestPrune.test_empty_lines_between_files_are_kept()
  lu.assertEquals(prune_text("a: int x;\nb:\nc: int y;\n"), "int x;\n\nint y;")
end

function TestPrune.test_a_file_with_only_comments_is_removed()
  lu.assertEquals(prune_text("a: /* Head. */\na:\na: INLINE int f(void) { return 1; }\nb:\nb: int x;\n"), "int x;")
  lu.assertEquals(
    prune_text("a: /* Head. */\na:\na: enum { ONE };\na: INLINE int f(void) { return 1; }\nb:\nb: int x;\n"),
    "/* Head. */\n\nenum { ONE };\n\nint x;")
end

support.run()
