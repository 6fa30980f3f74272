-- tests/ptx: parsing of PTX, and refusal of unknown instructions.

local support = dofile("tests/lua/support.lua")
package.path = "tests/ptx/?.lua;" .. package.path
local assemble = require("assemble")
local lu = require("luaunit")
local parse = require("parse")

TestPtx = {}

local HEAD = [[
.version 9.0
.target sm_90
.address_size 64

.extern .shared .align 16 .b8 memory[];
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5};

.func callee(
	.param .b32 callee_param_0
)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [callee_param_0];
	ret;
}

.visible .entry kernel(
	.param .align 8 .b8 kernel_param_0[24]
)
.maxntid 256, 1, 1
{
	.reg .pred %p<4>;
	.reg .f32 %f<8>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
]]
local FIRST = select(2, HEAD:gsub("\n", "")) + 1 -- first line of the body

local function assemble_program(body)
  return assemble.program(parse.module("k.ptx", HEAD .. body .. "\n\tret;\n}\n"))
end

local function find_problem(body)
  local succeeded, problem = pcall(assemble_program, body)
  lu.assertFalse(succeeded, body)
  return problem
end

-- Returns the operations of the kernel as one text, without the two operations of the called function.
local function list_operations(body)
  local operations = {}
  for operation in assemble_program(body):gmatch("\ndo %d+ [%w_]+ %-?%d+ ([%w_]+)") do
    operations[#operations + 1] = operation
  end
  return table.concat(operations, " ", 3)
end

function TestPtx.test_program_names_an_operation_for_every_instruction()
  lu.assertEquals(list_operations("\tadd.s32 %r1, %r2, 7;\n$L_a:\n\t@!%p1 bra $L_a;\n" ..
    "\tld.shared.v2.f32 {%f1, %f2}, [%r1+8];"), "add_s32 bra load_u32_4 ret")
end

function TestPtx.test_program_moves_arguments_to_the_parameters_of_the_called_function()
  lu.assertEquals(list_operations("\t{ // callseq 0, 0\n\t.reg .b32 temp_param_reg;\n\t.param .b32 param0;\n" ..
    "\tst.param.b32 [param0+0], %r1;\n\tcall.uni \n\tcallee, \n\t(\n\tparam0\n\t);\n\t} // callseq 0"),
    "pass_4 call ret")
end

function TestPtx.test_program_has_constants_by_the_size_of_their_type()
  local text = assemble_program("\tmov.f32 %f1, 0f3F800000;\n\tadd.s64 %rd1, %rd1, -1;\n\tmov.pred %p1, -1;")
  lu.assertStrContains(text, " 4 3f800000\n")
  lu.assertStrContains(text, " 8 ffffffffffffffff\n")
  lu.assertStrContains(text, " 1 1\n")
end

local UNKNOWN = {
  { "\tadd.u16 %r1, %r2, 7;", "unknown instruction: add.u16 %r1, %r2, 7" },
  { "\tadd.ftz.f32 %f1, %f2, %f3;", "unknown instruction: add.ftz.f32 %f1, %f2, %f3" },
  { "\tadd.s32 %r1, %r2;", "unknown instruction: add.s32 %r1, %r2" },
  { "\tfma.rz.f32 %f1, %f2, %f3, %f4;", "unknown instruction: fma.rz.f32 %f1, %f2, %f3, %f4" },
  { "\tadd.s32 %r1, %rd2, 7;", "%rd2 has another size than s32: add.s32 %r1, %rd2, 7" },
  { "\tadd.s32 %r1, %r9, 7;", "unknown operand %r9 of type s32: add.s32 %r1, %r9, 7" },
  { "\tadd.s32 %r1, %r2, 4294967296;", "unknown operand 4294967296 of type s32: add.s32 %r1, %r2, 4294967296" },
  { "\tadd.f32 %f1, %f2, 1;", "unknown operand 1 of type f32: add.f32 %f1, %f2, 1" },
  { "\tmov.u32 %r1, %laneid;", "unknown operand %laneid of type u32: mov.u32 %r1, %laneid" },
  { "\tmov.u32 %r1, %tid.y;", "unknown operand %tid.y of type u32: mov.u32 %r1, %tid.y" },
  { "\tbar.sync 1;", "unknown barrier: bar.sync 1" },
  { "\tbar.sync 0, 64;", "unknown barrier: bar.sync 0, 64" },
  { "\tld.global.v8.f32 %f1, [%rd1];", "unknown instruction: ld.global.v8.f32 %f1, [%rd1]" },
  { "\tld.global.v4.f64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];", "unknown instruction: ld.global.v4.f64" },
  { "\tld.const.f32 %f1, [table];", "unknown instruction: ld.const.f32 %f1, [table]" },
  { "\tld.acquire.gpu.u32 %r1, [%rd1];", "unknown instruction: ld.acquire.gpu.u32 %r1, [%rd1]" },
  { "\tld.global.f32 %f1, [%r1];", "an address that is not of 64 bits: ld.global.f32 %f1, [%r1]" },
  { "\tld.shared.u64 %r1, [%r2];", "%r1 has another size than u64: ld.shared.u64 %r1, [%r2]" },
  { "\tbra $L_nowhere;", "a label that is not there: bra $L_nowhere" },
  { "\tcall.uni nobody, ();", "unknown call: call.uni nobody, ()" },
  { "\tcall.uni kernel, ();", "unknown call: call.uni kernel, ()" },
  { "\tcall.uni callee, ();", "unknown call: call.uni callee, ()" },
  { "\tld.param.u32 %r1, [callee_param_0];", "unknown parameter: ld.param.u32 %r1, [callee_param_0]" },
  { "\t@%r1 bra $L_a;", "%r1 has another size than pred: @%r1 bra $L_a" },
  { "\tatom.add.f32 %f1, [%rd1], %f2;", "unknown instruction: atom.add.f32 %f1, [%rd1], %f2" },
  { "\tex2.approx.f32 %f1, %f2;", "unknown instruction: ex2.approx.f32 %f1, %f2" },
  { "\t.pragma \"unroll\";", "unknown directive: .pragma \"unroll\"" },
  { "\tst.param.b32 [param0+0], %r1;", "unknown parameter: st.param.b32 [param0+0], %r1" },
}

function TestPtx.test_text_unknown_statements_are_errors_with_line_and_text()
  for _, case in ipairs(UNKNOWN) do
    local expected = ("k.ptx:%d: %s"):format(FIRST + 1, case[2])
    lu.assertEquals(find_problem("\tmov.u32 %r1, 1;\n" .. case[1]):sub(1, #expected), expected)
  end
end

function TestPtx.test_text_unknown_directives_are_errors()
  local succeeded, problem = pcall(parse.module, "k.ptx", ".version 9.0\n.target sm_90\n.address_size 32\n")
  lu.assertFalse(succeeded)
  lu.assertStrContains(problem, "k.ptx:3: a statement without end: .address_size 32")
  succeeded, problem = pcall(parse.module, "k.ptx", HEAD .. "\tret;\n}\n.func (.param .b32 out) f()\n{\n\tret;\n}\n")
  lu.assertFalse(succeeded)
  lu.assertStrContains(problem, ("k.ptx:%d: unknown function"):format(FIRST + 2))
end

support.run()
