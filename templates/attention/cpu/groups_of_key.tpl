% -- Continues the loop of groups_begin.tpl: only the lanes from `before` to `count` - 1 of a group are computed, and
% -- groups that see none of the keys are skipped.
const int before = first < head->first_query ? head->first_query - first : 0;
const int count = ${to_query} - first < LANES ? ${to_query} - first : LANES;
% if terms.has_spans then
int begin, end;
${name}_span(head, first, &begin, &end);
if (j < begin || j >= end) {
    row += ${has_query_bounds and "(count - before)" or "count"} * ${vectors} * ${PREFIX}HEAD_WIDTH;
    continue;
}
% end
