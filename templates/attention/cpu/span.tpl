% if terms.has_spans then
int begin, end;
${name}_span(head, ${first}, &begin, &end);
% end
