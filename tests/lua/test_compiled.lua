-- Digests are computed of C text as the compiler reads it. Tests of edits that change this text and of edits that do
-- not, and a comparison of the compiler's output.

local support = dofile("tests/lua/support.lua")

local cases = require("cases")
local compiled = require("render.templates.compiled")
local lu = require("luaunit")
local write = require("base.write")

TestText = {}

local CC = os.getenv("CC") or "gcc"

-- Pairs of C texts with equal and with different digests: { description, a text, another text }.
local EQUAL_PAIRS = {
  { "comments", "int a; /* one */ int b; // two\nint c;\n", "int a;\nint b; /* what\n * else */\nint c;" },
  { "blanks and line breaks", "static real f(real x,\n              real y) {\n\n    return x +\n        y;\n}\n",
    "static real f(real x, real y) { return x + y; }" },
  { "continued directives", "#define A(x) \\\n    f(x)\nint a;\n", "#define A(x)   f(x)\n\n  int a;\n" },
  { "comments in directives", "#define A 1 /* one */\n", "#define A 1 /* another */\n" },
  { "quotes in comments", "/* it's */ int a; // don't\nint b;\n", "int a; int b;\n" },
}

local DIFFERENT_PAIRS = {
  { "a constant", "int a = 1;", "int a = 2;" },
  { "an operator", "a = b + c;", "a = b - c;" },
  { "words that a blank separates", "int a;", "inta;" },
  { "a blank after a macro's name", "#define A (1)\n", "#define A(1)\n" },
  { "the end of a directive", "#define A 1\nint a;\n", "#define A 1 int a;\n" },
  { "an empty directive", "#define A\nB\n", "#define A B\n" },
  { "blanks of a string", 'puts("a  b");', 'puts("a b");' },
  { "a comment in a string", 'puts("/* a */");', 'puts("");' },
  { "a quote in a string", 'puts("\\"/*"); f(); /* */', 'puts("\\"/*"); /* */' },
  { "a quote of a character", "c = '\"'; f(); // \"\n", "c = '\"'; // \"\n" },
  { "the order of functions", "INLINE int a(void) { return 1; }\nINLINE int b(void) { return 2; }\n",
    "INLINE int b(void) { return 2; }\nINLINE int a(void) { return 1; }\n" },
  { "the called function", "INLINE int a(int x) { return x; }\nINLINE int b(int x) { return x; }\nint c = a(1);",
    "INLINE int a(int x) { return x; }\nINLINE int b(int x) { return x; }\nint c = b(1);" },
  { "a function defined elsewhere", "double a = exp(1);", "double a = exp2(1);" },
}

local function normalise(text)
  return compiled.number_names(compiled.reduce(text), {})
end

function TestText.test_changes_without_effect_keep_the_compiled_text()
  for _, case in ipairs(EQUAL_PAIRS) do
    lu.assertEquals(normalise(case[2]), normalise(case[3]), case[1])
  end
end

function TestText.test_changes_with_effect_change_the_compiled_text()
  for _, case in ipairs(DIFFERENT_PAIRS) do
    lu.assertNotEquals(normalise(case[2]), normalise(case[3]), case[1])
  end
end

-- The names of static functions and tables have no effect, neither in their defining file nor in later files of the
-- same compilation unit.
function TestText.test_names_of_statics_have_no_effect()
  -- The arguments are the names of two static functions, a static table and a global function.
  local function make_texts(f, g, t, global)
    local names, list = {}, {}
    for i, text in ipairs({ "INLINE real F(real x) { return x; }\n", "static const int T[] = {1, 2};\n"
      .. "NOINLINE void G(int x) {\n  y = F(T[x]);\n}\nvoid GLOBAL(void) { G(1); }\n" }) do
      text = text:gsub("%f[%w]%u+%f[^%w]", { F = f, G = g, T = t, GLOBAL = global })
      list[i] = compiled.number_names(compiled.reduce(text), names)
    end
    return list
  end
  local base = make_texts("double_of", "store_rows", "widths", "seen")
  lu.assertEquals(make_texts("twice", "write_all_rows_of_a_head", "count", "seen"), base)
  lu.assertNotEquals(make_texts("double_of", "store_rows", "widths", "met"), base)
end

-- Returns the assembly of a generated step.c with its kernels, after change(text) has replaced the text of every file.
-- name: a folder for these files.
local function compile_to_assembly(name, change)
  local case, folder = cases.get_case("none none index 0 float32"), nil
  for _, file in ipairs(case.files) do
    folder = support.write(name .. "/" .. file.path, change(file.text)):match("^(.*)/")
  end
  for _, kernel in ipairs(write.list_names("kernels/cpu")) do
    support.write(name .. "/kernels/cpu/" .. kernel, change(support.read("kernels/cpu/" .. kernel)))
  end
  local root = support.shell("pwd -P"):match("[^\n]+")
  local text, is_ok = support.shell(("cd %s && %s -std=gnu11 -O1 -g0 -w -S -o step.s -I. -I'%s/include' -I'%s' step.c")
    :format(folder, CC, root, root))
  lu.assertTrue(is_ok, text)
  return support.read(folder .. "/step.s")
end

function TestText.test_compiled_text_gives_the_same_assembly()
  if not select(2, support.shell(CC .. " -dumpmachine")) then
    lu.skip("no C compiler " .. CC)
  end
  local text = compile_to_assembly("whole", function(text) return text end)
  lu.assertTrue(#text > 100000)
  lu.assertTrue(compile_to_assembly("seen", compiled.reduce) == text)
end

support.run()
