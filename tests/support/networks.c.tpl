/* Networks of the specs under test, for the interpreter in double. Written by tests/support/render_networks.lua. */
#include "support/lh_network.h"

% local RELATIVE = { none = "NO_RELATIVE", transformer_xl = "TRANSFORMER_XL", shaw = "SHAW", cope = "COPE" }
% for n, network in ipairs(networks) do
/* ---- ${network.id} ---- */

static const lh_ref_shape tensors_${n}[] = {
% for _, t in ipairs(network.tensors) do
    {"${t.name}", ${t.rows}, ${t.columns}},
% end
};
% if network.families[1] then

% for i, f in ipairs(network.families) do
% if f.lines[1] then
static const lh_ref_line lines_${n}_${i}[] = {
% for _, line in ipairs(f.lines) do
    {.head = ${line.head}, .direction = ${line.direction}, .number = ${line.line}, .value = ${f64(line.value)}},
% end
};
% end
% end
static const lh_ref_family families_${n}[] = {
% for i, f in ipairs(network.families) do
% local CORNER = { none = "NO_CORNER", lines = "WITH_LINES", all = "ALL_HEADS" }
% local count, lines, corner = #f.lines, #f.lines > 0 and ("lines_%d_%d"):format(n, i) or "NULL", CORNER[f.corner]
% local r, relative, scaling = f.rotation, RELATIVE[f.relative], f.rotation.scaling:upper()
    {.heads = ${f.heads}, .rotated_heads = ${f.rotated_heads}, .relative = LH_REF_${relative}, .divided = ${f.divided}, .clip = ${f.clip},
     .farthest = ${f.farthest}, .has_score = ${f.has_score}, .gate_sign = ${f.gate_sign}, .has_grape = ${f.has_grape}, .sums_rows = ${f.sums_rows}, .temperature = ${f64(f.temperature)},
     .rotation = {.base = ${f64(r.base)}, .scaling = LH_REF_${scaling}, .factor = ${f64(r.factor)},
                  .original_length = ${f64(r.original_length)}, .beta_slow = ${f64(r.beta_slow)},
                  .beta_fast = ${f64(r.beta_fast)}, .attention_factor = ${f64(r.attention_factor)}},
     .is_geometric = ${f.is_geometric}, .normalised = ${f.normalised}, .breaks_stick = ${f.breaks_stick},
     .own_key = ${f.own_key}, .own_value = ${f.own_value},
     .left = ${f.left}, .right = ${f.right}, .stride = ${f.stride}, .width = ${f.width}, .left_only = ${f.left_only},
     .lines = ${lines}, .line_count = ${count}, .from_right = ${f.from_right}, .causal = ${f.causal},
     .corner = LH_REF_${corner}, .period = ${f.period}},
% end
};
% end
% for s, scope in ipairs(network.scopes) do

/* ${scope.name} */
static const lh_ref_value values_${n}_${s}[] = {
% for _, v in ipairs(scope.values) do
    {.width = ${v.width}, .stream = ${v.stream}, .outside = ${v.outside}},
% end
};
static const lh_ref_operation operations_${n}_${s}[] = {
% for _, o in ipairs(scope.operations) do
% local kind, f, additive, cell = o.kind:upper(), o.f:upper(), o.additive:upper(), o.cell:upper()
    {.kind = LH_REF_${kind}, .out = ${o.out}, .x = {${o.x}}, .tensor = {${o.tensors}}, .parts = ${o.parts},
     .f = LH_REF_${f}, .cell = LH_REF_${cell}, .cells = ${o.cells}, .is_rms = ${o.is_rms}, .is_tied = ${o.is_tied}, .first_class = ${o.first_class}, .scale = ${f64(o.scale)},
     .blanks = ${o.blanks}, .embedding = ${o.embedding}, .stream = ${o.stream},
     .additive = LH_REF_${additive}, .interleaved = ${o.interleaved}, .grid = ${o.grid}, .period = ${o.period}, .rate = ${f64(o.rate)}, .dropout_site = ${o.dropout_site},
     .family = ${o.family}, .block = ${o.block}},
% end
};
% end

static const lh_ref_scope scopes_${n}[] = {
% for s, scope in ipairs(network.scopes) do
% local values, operations = #scope.values, #scope.operations
    {.value_count = ${values}, .values = values_${n}_${s},
     .operation_count = ${operations}, .operations = operations_${n}_${s},
     .input = ${scope.input}, .output = ${scope.output},
     .repetitions = ${scope.repetitions}, .loops = ${scope.loops}, .times = ${scope.times},
     .is_group = ${scope.is_group}, .has_pass_losses = ${scope.has_pass_losses},
     .first_tensor = ${scope.first_tensor}, .tensor_count = ${scope.tensor_count},
     .dropout_layer = ${scope.dropout_layer}},
% end
};

% end
static const lh_ref_network networks[] = {
% for n, network in ipairs(networks) do
% local tensors, families, scopes = #network.tensors, #network.families, #network.scopes
% local list = families > 0 and "families_" .. n or "NULL"
    {.id = "${network.id}", .noise = LH_REF_${network.noise},
     .classes = ${network.classes}, .dropout_sites = ${network.dropout_sites},
     .tensor_count = ${tensors}, .tensors = tensors_${n},
     .family_count = ${families}, .families = ${list},
     .scope_count = ${scopes}, .scopes = scopes_${n}},
% end
};
static const lh_memory_plan memory_plans[] = {
% for _, p in ipairs(memory_plans) do
    {.id = "${p.id}", .level = "${p.level}", .length = {${p.first}, ${p.second}}, .sequences = ${p.sequences},
     .workspace = ${p.workspace}, .shared = ${p.shared}, .tables = ${p.tables}},
% end
};
% local count, sizes = #networks, #memory_plans
const lh_ref_network *const lh_networks = networks;
const int lh_network_count = ${count};
const lh_memory_plan *const lh_memory_plans = memory_plans;
const int lh_memory_plan_count = ${sizes};
