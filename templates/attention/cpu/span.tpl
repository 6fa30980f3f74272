% -- Variables begin, end: the keys that the group from query `first` on sees.
% if terms.has_spans then
int begin, end;
${name}_span(head, ${first}, &begin, &end);
% end
