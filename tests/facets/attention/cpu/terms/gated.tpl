% local gradient = terms.changes_gradient and "dscore" or "dlogit"
% section("members")
const real *gate; /* of key 0; keys ${PREFIX}GATE_WIDTH apart */
% section("last_members")
real *dgate;
% section("head")
head.gate = ${request_name} + h;
% section("head_back")
head.dgate = d${request_name} + h;
% section("functions")

/* How far LANES queries, from `first` on, are from key j; lanes beyond the last query repeat it. */
INLINE vector ${name}_gap(const ${name}_head *head, int first, int j) {
    vector offset = descending(j - first, j - head->T + 1);
    return maximum(offset, -offset);
}
% section("score")
${inner} - ${name}_gap(head, group->first, j) * head->gate[j * ${PREFIX}GATE_WIDTH]
% section("clear")
memset(dgate, 0, (size_t)(w->sequences * T) * ${PREFIX}GATE_WIDTH * sizeof(real));
% section("advance")
gate += T * ${PREFIX}GATE_WIDTH;
% section("advance_back")
gate += T * ${PREFIX}GATE_WIDTH;
dgate += T * ${PREFIX}GATE_WIDTH;
% section("group_back")
vector gate_inverse = keep_where(lanes_before(T - first), inverse);
% section("pair_back")
head->dgate[j * ${PREFIX}GATE_WIDTH] -= sum_lanes(${name}_gap(head, first, j) * ${gradient} * gate_inverse);
