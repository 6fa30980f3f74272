-- The template engine: its output, the line map, and every rule as an error with its position.

local support = dofile("tests/lua/support.lua")

local literals = require("base.literals")
local lu = require("luaunit")
local render = require("render.templates.render")

local PLAN = {
  n = 4, name = "cap", half = 0.5, flag = true,
  layers = { { name = "first", weight = 0.5, rope = true }, { name = "second", weight = 1, rope = false } },
}

-- Renders t.tpl. templates: the text of t.tpl, or texts by name ("FOLDER:NAME" of files that are spliced).
local function render_text(templates, plan)
  if type(templates) == "string" then
    templates = { ["t.tpl"] = templates }
  end
  return render.render("t.tpl", plan or PLAN, function(name, folder)
    return templates[folder and folder .. ":" .. name or name]
  end)
end

local function check_text(template, expected)
  local text, err = render_text(template)
  lu.assertEquals(text or err, expected)
end

-- Checks that a template is refused. expected: "line:col: what" or "line:col: what | hint".
local function check_error(template, expected)
  local text, err = render_text(template)
  lu.assertNil(text, "rendered instead of: " .. expected)
  local actual = ("%d:%d: %s"):format(err.line, err.col, err.what)
  lu.assertEquals(expected:find(" | ", 1, true) and actual .. " | " .. (err.hint or "") or actual, expected)
  return err
end

TestText = {}

function TestText.test_lines_are_kept_as_they_are()
  check_text("int x;   \n\n  y\n", "int x;   \n\n  y\n")
  check_text("no final newline", "no final newline\n")
  check_text("", "\n")
  check_text("% if flag then\n% end\n", "")
end

function TestText.test_holes_print_values()
  check_text("${name}_${n} ${layers[2].name}\n", "cap_4 second\n")
  check_text("a $ {x} $$ }{\n", "a $ {x} $$ }{\n")
  check_text("${f32(half)} ${f64(half)} ${f32(n)}\n", "0.5f 0.5 4.0f\n")
  check_text('${ident("x86-64-v3")} ${ident("}")}\n', "x86_64_v3 _\n")
end

function TestText.test_control_lines_have_no_output()
  check_text("% for i, layer in ipairs(layers) do\n  % if layer.rope then\nrope ${i}\n  % else\nnone\n  % end\n% end\n",
    "rope 1\nnone\n")
  check_text("% local k = n * 2 -- twice\n${k}\n% repeat\n% k = k - 1\n% until k < 7\n${k}\n", "8\n6\n")
  check_text("% for i = 1, 9 do if i == 3 then break end\n${i}\n% end\n", "1\n2\n")
end

function TestText.test_a_condition_at_the_end_of_a_line_decides_the_line()
  check_text("  a; % if flag\nb % if not flag\nc % if n == 4 and flag\n", "  a;\nc\n")
  check_text("% for _, l in ipairs(layers) do\n${l.name} % if l.rope\nsecond % elseif l.weight == 1\n- % else\n% end\n",
    "first\nsecond\n")
  check_text("a % if not flag\nb % elseif not n\nc % else\nd % if flag\n", "c\nd\n")
  check_text("x % 2\nx %d % iffy\n% if flag then\na % b % if flag\n% end\n", "x % 2\nx %d % iffy\na % b\n")
  local text, map = render_text({ ["t.tpl"] = 'x\n    % include("p") % if flag\n  % include("q") % else\n',
    p = "a\nb\n", q = "c\n" })
  lu.assertEquals(text, "x\n    a\n    b\n")
  lu.assertEquals(map[3], { { "p", 2 }, { "t.tpl", 2 } })
end

function TestText.test_a_loop_at_the_end_of_a_line_repeats_the_line()
  check_text("  ${l.name}; % for _, l in ipairs(layers)\n${i} % for i = 1, 2\n", "  first;\n  second;\n1\n2\n")
  local text = render_text({ ["t.tpl"] = '{\n    % include("p", l) % for _, l in ipairs(layers)\n}\n',
    p = "${weight_text}\n" }, { layers = { { weight_text = "a" }, { weight_text = "b" } } })
  lu.assertEquals(text, "{\n    a\n    b\n}\n")
end

function TestText.test_include_indents_to_its_column()
  local text, map = render_text({
    ["t.tpl"] = "{\n    % include(\"parts/a.tpl\", { depth = n })\n}\n",
    ["parts/a.tpl"] = "a ${depth}\n\n  % include(\"parts/b.tpl\")\n",
    ["parts/b.tpl"] = "b ${depth} ${name}\n",
  })
  lu.assertEquals(text, "{\n    a 4\n\n      b 4 cap\n}\n")
  lu.assertEquals(map[1], { { "t.tpl", 1 } })
  lu.assertEquals(map[2], { { "parts/a.tpl", 1 }, { "t.tpl", 2 } })
  lu.assertEquals(map[4], { { "parts/b.tpl", 1 }, { "parts/a.tpl", 3 }, { "t.tpl", 2 } })
  lu.assertEquals(#map, 5)
end

function TestText.test_a_template_may_include_itself_with_other_values()
  local tree = '${name}\n    % include("a", branch) % for _, branch in ipairs(branches)\n'
  local main = '% include("a", { name = "x", branches = { { name = "y", branches = {} } } })\n'
  lu.assertEquals(render_text({ ["t.tpl"] = main, a = tree }), "x\n    y\n")
end

function TestText.test_paragraph_includes_and_adds_an_empty_line()
  local text, map = render_text({ ["t.tpl"] = '  % paragraph("p", { a = 1 })\n% paragraph("p") % if not flag\nx\n',
    p = "${a}\n" })
  lu.assertEquals(text, "  1\n\nx\n")
  lu.assertEquals(map[2], { { "t.tpl", 1 } })
end

function TestText.test_include_arguments_may_span_lines()
  local text = render_text({ ["t.tpl"] = "% include(\"p\", {\n%   a = 1,\n% })\nend\n", p = "${a}\n" })
  lu.assertEquals(text, "1\nend\n")
end

function TestText.test_arguments_of_a_template_precede_the_plan()
  local text = render.render("t.tpl", PLAN, function(name)
    return name == "p" and "${name}\n" or '${name} ${half_text}\n% include("p")\n% include("p", { name = "inner" })\n'
  end, nil, { name = "family", half_text = "0.5" })
  lu.assertEquals(text, "family 0.5\nfamily\ninner\n")
end

function TestText.test_names_of_a_part_end_with_it()
  local text, err = render_text({ ["t.tpl"] = "% include(\"p\", { a = 1 })\n${a}\n", p = "${a}\n" })
  lu.assertNil(text)
  lu.assertEquals(err.what, "'a' is not in the plan")
end

-- The templates of two terms; each section inserts text into the slot of its name.
local TEXTS = {
  a = '% local twice = n * 2\n% section("members")\nint ${name}_${twice};\n% section("value")\nf(${inner}, ${n})\n',
  b = '% section("value")\ng(${inner})\n% section("members")\n% if flag then\nint ${p};\n% end\n',
}

function TestText.test_slots_insert_text_of_terms()
  local plan = { flag = true, name = "cap", n = 4, terms = { { template = "a", n = 3 }, { template = "b", p = "b" } } }
  local function check(text, expected)
    local actual, err = render_text({ ["t.tpl"] = text, ["terms/a.tpl"] = TEXTS.a, ["terms/b.tpl"] = TEXTS.b }, plan)
    lu.assertEquals(actual or ("%s:%d: %s"):format(err.path, err.line, err.what), expected)
  end
  check('{\n    % slot("members")\n}\n', "{\n    int cap_6;\n    int b;\n}\n")
  check('  % slot("members", { name = "cup", flag = false })\n', "  int cup_6;\n")
  check('% slot("nothing")\n', "")
  check('x = ${inline("value", "1")} + ${inline("nothing", "2")};\n', "x = g(f(1, 3)) + 2;\n")
  check('% include("terms/a.tpl")\n', "templates/terms/a.tpl:2: a section in a file that is included as a whole")
  check("% slot(n)\n", "templates/t.tpl:1: slot takes the name of a section of the terms' templates")
  check('${inline("members", "1")}${zzz}\n', "templates/t.tpl:1: 'zzz' is not in the plan")
  table.insert(plan.terms, { template = "c" })
  check('% slot("members")\n', "templates/t.tpl:1: no such template of a term: templates/terms/c.tpl")
end

-- The engine interprets nothing in a spliced hand-written file, and the column of the splice has no effect.
function TestText.test_splice_inserts_a_kernel_unchanged()
  local text, map = render_text({
    ["t.tpl"] = "a\n% if flag then\n    % splice(\"cuda/x.cu\")\n% end\n% include(\"p\")\n",
    ["p"] = "  % splice(\"y.cu\")\n% splice(\"z.h\", \"elsewhere\")\n",
    ["kernels:cuda/x.cu"] = "% 2 ${n}\n\n    x = \"%\";\n",
    ["kernels:y.cu"] = "no final newline",
    ["elsewhere:z.h"] = "z\n",
    ["cuda/x.cu"] = "a template of that name\n",
  })
  lu.assertEquals(text, "a\n% 2 ${n}\n\n    x = \"%\";\nno final newline\nz\n")
  lu.assertEquals(#map, 6)
  lu.assertEquals(map[4], { { "cuda/x.cu", 3, "kernels" }, { "t.tpl", 3 } })
  lu.assertEquals(map[5], { { "y.cu", 1, "kernels" }, { "p", 1 }, { "t.tpl", 5 } })
  lu.assertEquals(render.format_place(map[4][1]), "kernels/cuda/x.cu:3")
  lu.assertEquals(render.format_place(map[6][1]), "elsewhere/z.h:1")
  lu.assertEquals(render.format_place(map[4][2]), "templates/t.tpl:3")
end

TestNumbers = {}

function TestNumbers.test_f32_has_the_fewest_digits_and_a_suffix()
  local cases = { [0.1] = "0.1f", [1 / 3] = "0.33333333f", [1e20] = "1e+20f", [3] = "3.0f", [-2.0] = "-2.0f",
    [16777217] = "16777217.0f", [1e-40] = "1e-40f" }
  for value, expected in pairs(cases) do
    lu.assertEquals(literals.f32(value), expected)
  end
end

function TestNumbers.test_f64_reads_back_exactly()
  for _, value in ipairs({ 0.1, 1 / 3, 1e300, 5e-324, -0.0, 2 ^ 53 + 2, 123456789 }) do
    local text = literals.f64(value)
    lu.assertStrMatches(text, ".*[.e].*")
    lu.assertEquals(tonumber(text), value)
  end
end

function TestNumbers.test_values_without_a_literal_are_refused()
  for _, value in ipairs({ 0 / 0, 1 / 0, -1 / 0, 1e39 }) do
    lu.assertNil((literals.f32(value)))
  end
  lu.assertNil((literals.f64(1 / 0)))
  lu.assertNil((literals.f64("1")))
end

TestErrors = {}

function TestErrors.test_unknown_names_are_reported_with_the_nearest()
  check_error("x\n  ${naem}\n", "2:5: 'naem' is not in the plan | did you mean \"name\"?")
  check_error("% if flg then\n% end\n", "1:6: 'flg' is not in the plan | did you mean \"flag\"?")
  check_error("${pairs}\n", "1:3: 'pairs' is not in the plan | did you mean \"ipairs\"?")
  check_error("% local t = os.time()\n", "1:13: 'os' is not in the plan")
end

function TestErrors.test_values_that_a_hole_does_not_print_are_refused()
  local hint = " | a hole takes a one-line string or an integer"
  check_error("${layers}\n", "1:1: layers is a table" .. hint)
  check_error("a ${flag}\n", "1:3: flag is a boolean" .. hint)
  check_error("${half}\n", "1:1: half is a float: 0.5 | print floats with f32(x) or f64(x)")
  check_error('${"a\\nb"}\n', '1:1: "a\\nb" has more than one line' .. hint)
  check_error("${f32(n)} ${f32(name)}\n", "1:13: f32: a number is needed, not string")
  check_error('${ident("int")}\n', '1:3: ident: "int" makes no C identifier')
end

function TestText.test_the_first_lines_of_sections_may_have_conditions()
  local page = '% local k = n\n% section("first") % if flag\na\n\nb\nalone % section("second")\n'
    .. '${k} % section("third") % if not flag\n% section("fourth")\nc\n% section("fifth") % if not flag\nd\n'
  local function check(text, expected)
    local actual, err = render_text({ ["t.tpl"] = text, ["terms/a.tpl"] = page },
      { flag = true, n = 4, terms = { { template = "a" } } })
    lu.assertEquals(actual or ("%s:%d: %s"):format(err.path, err.line, err.what), expected)
  end
  check('% slot("first")\n', "a\n\nb\n")
  check('% slot("second")\n% slot("third")\n', "alone\n")
  check('% slot("fourth")\n% slot("fifth")\n', "c\n")
  page = 'a % section("first")\nb\n'
  check('% slot("first")\n', "templates/terms/a.tpl:2: a line below a section of one line")
end

function TestText.test_conditions_hold_up_to_the_closing_bracket()
  check_text("f( % if flag then\n    ${n});\ng( % else\n    1);\nx\n", "f(\n    4);\nx\n")
  check_text("if (a) { % if not flag then\n    b(c, d);\n} else {\n    ${zzz}\n}\ne\n", "e\n")
  check_text("f(a, % if not flag then\n    b);\ng(a, % else\n    b);\nx\n", "g(a,\n    b);\nx\n")
  check_text("do { % for i = 1, 2 do\n    ${i} /* ) */; % if i == 2\n}\n", "do {\n}\ndo {\n    2 /* ) */;\n}\n")
  check_text("{ % if flag then\n    a( % if not flag then\n    1) }\nb % if flag\n}\n", "{\nb\n}\n")
end

function TestErrors.test_holes_compute_nothing()
  local hint = " | a hole contains a name, a field or one helper call; compute in plan.lua"
  check_error("${n + 1}\n", "1:5: '+' in a hole" .. hint)
  check_error("${name .. name}\n", "1:8: '..' in a hole" .. hint)
  check_error("${#layers}\n", "1:3: '#' in a hole" .. hint)
  check_error("${name\n", "1:1: this hole never closes | a hole ends on its line: ${name}")
  check_error("${}\n", "1:1: an empty hole")
  check_error('${include("p")}\n', "1:3: 'include' in a hole")
end

function TestErrors.test_blocks_are_balanced_at_their_opener()
  check_error("x\n% for i = 1, 3\n${i}\n% end\n", "2:3: 'for' has no 'do'")
  check_error("% if flag\n% end\n", "1:3: 'if' has no 'then'")
  check_error("x\n  % if flag then\n% for i = 1, 2 do\n% end\n", "2:5: 'if' is never closed | add a line: % end")
  check_error("% repeat\nx\n", "1:3: 'repeat' is never closed | add a line: % until")
  check_error("x\n% end\n", "2:3: 'end' closes nothing")
  check_error("% for i = 1, 2 do\n% until flag\n", "2:3: 'until' closes nothing")
  check_error("% else\n", "1:3: 'else' without 'if'")
  check_error("% if flag then\n% else\n% elseif n then\n% end\n", "3:3: 'elseif' without 'if'")
  check_error("% include(\"p\", {\nx\n% })\n", "1:16: '{' is never closed")
  check_error("% include(\"p\"))\n", "1:15: ')' closes nothing")
end

function TestErrors.test_wrong_conditions_at_the_ends_of_lines_are_reported()
  check_error("x\ny % if flg\n", "2:8: 'flg' is not in the plan | did you mean \"flag\"?")
  check_error("x % if flag then\n", "1:8: not an expression: flag then")
  check_error("f( % if flag then\n1\n", "1:6: a condition or loop for brackets that are never closed")
  check_error("x % if flag, n\n", "1:8: not an expression: flag, n")
  check_error("x % if slot(n)\n", "1:8: 'slot' at the end of a line")
  check_error("x % for n\n", "1:9: not a loop: for n")
  check_error("x % for _ in ipairs(layers) do\n", "1:29: 'do' at the end of a line")
  check_error("x % for _ in ipairs(layers)\ny % else\n", "2:5: 'else' without 'if' at the end of the line before")
  check_error("x\ny % else\n", "2:5: 'else' without 'if' at the end of the line before")
  check_error("x % if flag\ny % else\nz % elseif n\n", "3:5: 'elseif' without 'if' at the end of the line before")
  check_error("x % if flag\n\ny % else\n", "3:5: 'else' without 'if' at the end of the line before")
  check_error("% local x = 1 % if flag\n", "1:2: a condition or loop at the end of a line without output")
end

function TestErrors.test_lines_of_lua_are_checked_one_by_one()
  check_error("% if n = 3 then\n% end\n", "1:3: 'then' expected near '='")
  check_error("% local s = 'abc\n", "1:13: a string that does not end on its line")
  check_error("% n\n", "1:3: syntax error at the end of the line")
  check_error("% local function f()\n% end\n", "1:9: no 'function' in a template")
  check_error("% goto out\n", "1:3: no 'goto' in a template | use if")
  check_error("% if flag then return end\n", "1:16: no 'return' in a template")
  check_error("x\ty\n", "1:2: a tab or a carriage return")
end

function TestErrors.test_mistakes_at_run_time_have_their_line()
  check_error("x\n% local x = layers.foo.bar\n", "2:13: 'layers.foo' is not in the plan")
  check_error("% local t = {}\n% local x = t.foo.bar\n", "2:15: attempt to index a nil value (field 'foo')")
  check_error("% n = 5\n", "1:3: a template cannot set 'n' | write: local n")
end

function TestErrors.test_wrong_includes_are_reported()
  local misplaced = " must begin its line; a condition stands at the end of this line or on a line above"
  check_error('% if flag then include("p") end\n', "1:16: include" .. misplaced)
  check_error('  % include("zzz")\n', "1:3: no such template: templates/zzz")
  check_error('% if flag then splice("p") end\n', "1:16: splice" .. misplaced)
  check_error('x\n  % splice("zzz")\n', "2:3: no such file: kernels/zzz")
  local takes = "splice takes the name of a file in kernels/, or a name and another folder"
  check_error("x\n% splice(n)\n", "2:1: " .. takes)
  check_error('x\n% splice("a.h", n)\n', "2:1: " .. takes)
  check_error('x\n  % splice("zzz", "include")\n', "2:3: no such file: include/zzz")
  check_error('${splice("p")}\n', "1:3: 'splice' in a hole")
  local text, err = render_text({ ["t.tpl"] = 'x\n% include("a")\n', a = '% include("b")\n', b = '\n% include("a")\n' })
  lu.assertNil(text)
  lu.assertEquals({ err.what, err.path }, { "a includes itself: a -> b -> a", "templates/b" })
  lu.assertEquals(err.notes[2], { path = "templates/t.tpl", line = 2, what = "included here" })
end

TestFunctions = {}

-- Compares the output of a template of C, in which functions keep only the parameters and constants that they use.
local function check_c(template, expected)
  local text, err = render.render("t.c.tpl", PLAN, function() return template end)
  lu.assertEquals(text or err, expected)
end

function TestFunctions.test_a_function_has_the_parameters_that_its_body_mentions()
  check_c("static int f(const int *a, int b,\n        int c, real d[4]) {\n    /* b */\n    return a[0] + d[1];\n}\n"
    .. "/* f(x) */\nf(x, y, z,\n    u(1, 2));\n",
    "static int f(const int *a, real d[4]) {\n    /* b */\n    return a[0] + d[1];\n}\n/* f(x) */\nf(x, u(1, 2));\n")
end

function TestFunctions.test_functions_may_have_no_parameters_or_one_line()
  check_c("static void g(int a) {\n    stop(); // a\n}\nINLINE int h(int a, int b) { return a + g(a); }\n"
    .. "  x = h(1, 2);\n",
    "static void g(void) {\n    stop(); // a\n}\nINLINE int h(int a) { return a + g(); }\n  x = h(1);\n")
end

function TestFunctions.test_a_function_that_is_defined_again_has_its_own_parameters()
  check_c("static void f(int a, int b) {\n    use(a);\n}\nf(1, 2);\n"
    .. "static void f(int a, int b) {\n    use(b);\n}\nf(3, 4);\n",
    "static void f(int a) {\n    use(a);\n}\nf(1);\nstatic void f(int b) {\n    use(b);\n}\nf(4);\n")
end

function TestFunctions.test_pointers_to_arrays_and_to_functions_have_names()
  check_c("static int f(const int (*a)[2], int b, void (*visit)(int c), int (*d)[2]) {\n    visit(a[0][0]);\n}\n",
    "static int f(const int (*a)[2], void (*visit)(int c)) {\n    visit(a[0][0]);\n}\n")
end

function TestFunctions.test_members_are_no_parameters()
  check_c("static int f(int a, s *b, int c) {\n    return b->a + (*b).c;\n}\n",
    "static int f(s *b) {\n    return b->a + (*b).c;\n}\n")
end

function TestFunctions.test_dropped_arguments_are_not_mentioned()
  check_c("static void f(int a, int b) {\n    use(b);\n}\nstatic void g(int a, int b) {\n    f(a, b);\n}\n"
    .. "int m = g(1, 2);\n",
    "static void f(int b) {\n    use(b);\n}\nstatic void g(int b) {\n    f(b);\n}\nint m = g(2);\n")
end

function TestFunctions.test_unused_constants_are_left_out()
  check_c("static int f(const s *a) {\n    const int b = a->b, c = b + 1, d = c;\n    const s *e = a + c;\n"
    .. "    return b;\n}\n",
    "static int f(const s *a) {\n    const int b = a->b;\n    return b;\n}\n")
  local text = "int f(void) {\n    const int b = 1;\n    return 2;\n}\n"
  check_c(text, text)
end

-- A function whose address is taken keeps its parameters; declarations, tables and external functions do not change.
function TestFunctions.test_functions_that_must_keep_their_parameters()
  for _, text in ipairs({ "static int f(int a) {\n    return 1;\n}\nrun(f);\n", "static int f(int a);\n",
    "static const int f[2] = {g(1), 2};\n", "int f(int a) {\n    return 1;\n}\n" }) do
    check_c(text, text)
  end
end

function TestFunctions.test_a_head_is_wrapped_after_parameters_are_left_out()
  local long = ("z"):rep(100)
  check_c('% define("static void f", "int ' .. long .. '", false, "int ' .. long .. 'a")\n    ' .. long .. 'a;\n}\n',
    "static void f(int " .. long .. "a) {\n    " .. long .. "a;\n}\n")
end

function TestFunctions.test_control_lines_call_functions()
  check_text('% call("f", "a", false, 2)\n  x = ${invoke("g", "1")} + 1;\n', "f(a, 2);\n  x = g(1) + 1;\n")
  check_error('% call("f", flag)\n', "1:1: argument 1 of f is a boolean"
    .. " | a one-line string, an integer, or false for none")
end

function TestFunctions.test_wrong_templates_are_reported()
  local text, err = render.render("t.c.tpl", PLAN, function()
    return "static void f(int a, int b) {\n    a;\n}\n\nf(1, 2, 3);\n"
  end)
  lu.assertNil(text)
  lu.assertEquals({ err.path, err.line, err.what }, { "templates/t.c.tpl", 5, "f takes 2 arguments, not 3" })
end

TestWrap = {}

local LONG = ("x"):rep(60)

-- Compares the output of a template of C. template: its lines; expected: each output line as "TEMPLATE_LINE: TEXT".
local function check_wrapped(template, expected)
  local text, map = render.render("t.c.tpl", PLAN, function()
    return table.concat(template, "\n") .. "\n"
  end)
  local actual = {}
  for line in text:gmatch("([^\n]*)\n") do
    lu.assertTrue(#line <= 120, line)
    actual[#actual + 1] = ("%d: %s"):format(map[#actual + 1][1][2], line)
  end
  lu.assertEquals(actual, expected)
end

function TestWrap.test_code_is_broken_in_its_outermost_brackets()
  check_wrapped({ "a = 1;", "    f(g(" .. LONG .. ", 2), h(3, 4), " .. LONG .. ", 5);", "b = 2;" }, { "1: a = 1;",
    "2:     f(g(" .. LONG .. ", 2), h(3, 4),", "2:             " .. LONG .. ", 5);", "3: b = 2;" })
  check_wrapped({ "int " .. LONG .. " = a * (b + c) * d + e * " .. LONG .. ";" },
    { "1: int " .. LONG .. " = a * (b + c) * d +", "1:         e * " .. LONG .. ";" })
  check_wrapped({ "s->" .. LONG .. " = take(a * " .. LONG .. ");" },
    { "1: s->" .. LONG .. " =", "1:         take(a * " .. LONG .. ");" })
  check_wrapped({ '    {"' .. LONG .. '", {1, 2}, "' .. LONG .. '"},', "    {1, 2}," },
    { '1:     {"' .. LONG .. '", {1, 2},', '1:             "' .. LONG .. '"},', "2:     {1, 2}," })
end

function TestWrap.test_the_rest_of_a_line_is_joined_with_its_continuation()
  check_wrapped({ "f(" .. LONG .. ", " .. LONG .. ",", "        a, b);" },
    { "1: f(" .. LONG .. ",", "1:         " .. LONG .. ", a, b);" })
  check_wrapped({ "f(" .. LONG .. ",", "        a, b);" }, { "1: f(" .. LONG .. ", a, b);" })
  check_wrapped({ "case a:", "    b;" }, { "1: case a:", "2:     b;" })
end

function TestWrap.test_heads_bodies_and_comments_have_lines_of_their_own()
  check_wrapped({ "for (int i = 0; i < " .. LONG .. "; i++) f(" .. LONG .. ");" },
    { "1: for (int i = 0; i < " .. LONG .. "; i++)", "1:     f(" .. LONG .. ");" })
  check_wrapped({ "static int f(int " .. LONG .. ") { return g(" .. LONG .. "); }" },
    { "1: static int f(int " .. LONG .. ") {", "1:     return g(" .. LONG .. ");", "1: }" })
  check_wrapped({ "    int " .. LONG .. "; /* about " .. LONG .. " */" },
    { "1:     /* about " .. LONG .. " */", "1:     int " .. LONG .. ";" })
  check_wrapped({ "#define " .. LONG .. " 1 /* about " .. LONG .. " */" },
    { "1: /* about " .. LONG .. " */", "1: #define " .. LONG .. " 1" })
end

function TestWrap.test_a_long_comment_moves_words_to_the_next_line()
  check_wrapped({ "/* a " .. LONG .. " " .. ("y"):rep(52) .. " zzz", " * and so on. */" },
    { "1: /* a " .. LONG .. " " .. ("y"):rep(52), "2:  * zzz and so on. */" })
  check_wrapped({ "/* a " .. LONG .. " " .. ("y"):rep(50) .. " zz */" },
    { "1: /* a " .. LONG .. " " .. ("y"):rep(50), "1:  * zz */" })
  check_wrapped({ "/* a " .. LONG .. " " .. ("y"):rep(52) .. " zzz", " *", " * Next. */" },
    { "1: /* a " .. LONG .. " " .. ("y"):rep(52), "1:  * zzz", "2:  *", "3:  * Next. */" })
end

function TestWrap.test_directives_paths_of_the_banner_and_other_languages_are_not_wrapped()
  local directive = "#define A(x) f(x, " .. LONG .. ", " .. LONG .. ")"
  local text = render_text({ ["t.tpl"] = "f(" .. LONG .. ", " .. LONG .. ");\n" })
  lu.assertEquals(text, "f(" .. LONG .. ", " .. LONG .. ");\n")
  lu.assertEquals((render.render("t.c.tpl", PLAN, function()
    return directive .. "\n"
  end)), directive .. "\n")
  local path = ("d/"):rep(60)
  local banner = "/* Run\n * ./longhand gen " .. path .. "\n *\n * spec      " .. path .. "\n */\n"
  lu.assertEquals((render.render("t.c.tpl", PLAN, function() return banner end)), banner)
end

support.run()
