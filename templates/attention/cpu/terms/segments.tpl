% -- Masks that consist of lines, such as diagonals, in the matrix of queries and keys.
% local corner, causal = visibility.any_corner and PREFIX .. "CORNER[head->h]" or "false", visibility.causal and "true" or "false"
% local first_line, end_line = PREFIX .. "FIRST_LINE[head->h]", PREFIX .. "FIRST_LINE[head->h + 1]"
% -- corner: C text: whether query 0 sees the last key
% local line_arguments = ("%sLINES + %s, %sLINES + %s, %s, %s, head->T, head->%s"):format(PREFIX, first_line, PREFIX, end_line,
%     corner, causal, S)
% section("domain")
% include("parts/segments.tpl", { device = "" })

/* The keys from *begin to *end - 1 include all keys that LANES queries, from `first` on, see. Weights of other keys are
 * not stored. */
static void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    span_lines(${line_arguments}, first, begin, end);
}

/* Writes to gain [keys][LANES] the terms that lines add to a group's scores. -infinity hides a key from a query. */
static void write_${name}_line_gains(const ${name}_head *head, int first, int begin, int end, real *gain) {
    write_line_gains(${line_arguments}, first, begin, end, gain);
}
write_${name}_line_gains(head, first, ${from}, ${to}, ${added_values}); % section("add_values")
${inner} + load(${added_values} + ${key} * LANES) % section("plus_gain")
