% if terms.spans then
int begin, end;
${name}_span(head, ${first}, &begin, &end);
% end
