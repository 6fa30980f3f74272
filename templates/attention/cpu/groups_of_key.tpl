% if bounded then
const int before = first < head->first_query ? head->first_query - first : 0;
const int count = head->end_query - first < LANES ? head->end_query - first : LANES;
% else
int count = T - first < LANES ? T - first : LANES;
% end
% if terms.spans then
int begin, end;
${name}_span(head, first, &begin, &end);
if (j < begin || j >= end) {
    row += ${bounded and "(count - before)" or "count"} * ${vectors} * ${PREFIX}HEAD_WIDTH;
    continue;
}
% end
