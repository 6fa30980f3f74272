% -- Declares begin and end, the span of keys of a group. first: C text of the group's first query.
% if terms.has_spans then
int begin, end;
${name}_span(head, ${first}, &begin, &end);
% end
