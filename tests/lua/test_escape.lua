-- Escaping for every language, checked by a program that reads the language: the C compiler, the shell, make, gnuplot.
-- Also the checks of pages in hostile.lua, which must find the mistakes of invalid pages.

local support = dofile("tests/lua/support.lua")

local hostile = require("hostile")
local json = require("dkjson")
local lists = require("base.lists")
local lu = require("luaunit")
local escape = require("base.escape")

TestEscape = { tearDown = support.clean }

local function is_installed(program)
  return (os.execute(("command -v %s >/dev/null 2>&1"):format(program)))
end

function TestEscape.test_plain_text_is_one_line_that_prints()
  for _, text in ipairs(hostile.TEXTS) do
    lu.assertNil(hostile.find_text_problem(escape.plain(text)))
    lu.assertNil(escape.plain(text):find("\n"))
  end
  lu.assertEquals(escape.plain("\xff\xfea\u{e9}\nb\u{FFFE}"), "??a\u{e9}?b?")
  lu.assertEquals(escape.plain("as it is: %1 \\ '"), "as it is: %1 \\ '")
end

-- All texts are comments and strings of one program, which prints the strings.
function TestEscape.test_c_comments_and_strings_compile_and_print_the_text()
  local lines = { "#include <stdio.h>", "int main(void) {" }
  for _, text in ipairs(hostile.TEXTS) do
    lines[#lines + 1] = ("    /* %s */"):format(escape.c_comment(text))
    lines[#lines + 1] = ('    fwrite("%s", 1, %d, stdout);'):format(escape.c_string(text), #text)
  end
  lines[#lines + 1] = "    return 0;\n}\n"
  local path = support.write("c/texts.c", table.concat(lines, "\n"))
  local output, is_ok = support.shell(("cc -std=gnu11 -Wall -Wextra -Wtrigraphs -Werror -o %s.out %s && %s.out"):format(
    path, path, path))
  lu.assertTrue(is_ok, output)
  lu.assertEquals(output, table.concat(hostile.TEXTS))
end

-- A string that is split into lines has the same content.
function TestEscape.test_c_strings_in_pieces_have_the_same_content()
  local literals = require("base.literals")
  for _, text in ipairs({ ("\n\1?"):rep(60), ("\\\""):rep(70), "" }) do
    lu.assertEquals(table.concat(literals.split_text(text)), escape.c_string(text))
  end
end

function TestEscape.test_arguments_of_a_shell_arrive_unchanged()
  for _, text in ipairs(hostile.TEXTS) do
    if not text:find("\0", 1, true) then
      lu.assertEquals(support.shell("cd / && printf %s " .. escape.shell(text)), text)
    end
  end
end

-- If escape.make accepts a name, make reads it unchanged in a target, a prerequisite and a recipe without quotes.
function TestEscape.test_names_in_a_makefile_arrive_unchanged()
  local makefile = support.write("make/Makefile", "$(OUT)/b: $(OUT)/a\n\t@mkdir -p $(@D) && cp $< $@ && echo made $@\n")
  local folder, checked_count = makefile:match("^(.*)/"), 0
  for _, text in ipairs(lists.join(hostile.TEXTS, { "plain/x_1", "lr=0.1", "a+b,c@d^e", "\u{e9}" })) do
    if escape.make(text) and text ~= "" and #text < 200 and not text:find("..", 1, true) then
      support.write("make/" .. text .. "/a", "x")
      lu.assertEquals(support.shell(("make -s -C %s 'OUT=%s' '%s/b'"):format(folder, text, text)),
        ("made %s/b\n"):format(text))
      checked_count = checked_count + 1
    end
  end
  lu.assertTrue(checked_count >= 5)
  for _, text in ipairs({ "o;id>X;b", "a b", "a:b", "$(X)", "a#b", "-x", "~x", "a\nb", "a'b", "a%b", "a*b" }) do
    lu.assertNil(escape.make(text), text)
  end
end

function TestEscape.test_strings_of_gnuplot_print_the_text()
  if not is_installed("gnuplot") then
    lu.skip("gnuplot is not installed")
  end
  local lines, expected = { "set encoding utf8", "set print '-'" }, {}
  for i, text in ipairs(hostile.TEXTS) do
    lines[i + 2], expected[i] = "print " .. escape.gnuplot(text), escape.plain(text) .. "\n"
  end
  local path = support.write("gnuplot/texts", table.concat(lines, "\n") .. "\n")
  local folder = path:match("^(.*)/")
  lu.assertEquals(support.shell(("cd %s && LC_ALL=C.UTF-8 gnuplot texts"):format(folder)), table.concat(expected))
  lu.assertEquals(support.shell("ls " .. folder), "texts\n") -- no text has written a file
end

function TestEscape.test_json_is_decoded_to_the_same_text()
  for _, text in ipairs(hostile.TEXTS) do
    lu.assertEquals(json.decode(escape.json(text)), text)
  end
end

function TestEscape.test_html_latex_and_other_pages_stay_well_formed()
  for _, text in ipairs(hostile.TEXTS) do
    lu.assertNil(hostile.find_xml_problem(('<p title="%s">%s</p>'):format(escape.html(text), escape.html(text))))
    lu.assertNil(hostile.find_latex_problem(("\\caption{%s} \\\\\n%s"):format(escape.latex(text), escape.latex(text))))
    lu.assertNil(hostile.find_gnuplot_problem(("set title %s\n"):format(escape.gnuplot(text))))
    lu.assertNil(escape.python(text):find('["\\\n]'))
  end
end

function TestEscape.test_the_checks_find_mistakes()
  for problem, pages in pairs({
    find_gnuplot_problem = { "set title 'a\n!touch FILE\n'\n", "set title `id`\n", "system 'id'\n", "$a << EOD\n1\n",
      "$a << EOD\n1 2\n!x\nEOD\n", 'set title "`id`"\n' },
    find_xml_problem = { "<p><b>x</p></b>", "<p>", "<p>a & b</p>", "<p>&x;</p>", "<p>a < b</p>", '<p a="<">x</p>',
      "<p a=x>y</p>", "<p>\1</p>" },
    find_latex_problem = { "\\input{x}", "a}", "{a", "a_b", "50%", "a \\\\\n [x]", "\\begin{document}" },
    find_text_problem = { "\xff", "a\27[31m" },
  }) do
    for _, page in ipairs(pages) do
      lu.assertNotNil(hostile[problem](page), page)
    end
  end
end

support.run()
