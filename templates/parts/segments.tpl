% local format_real = precision == "float64" and f64 or f32
% -- Prints the arrays of a mask of kind "lines". A line, such as a diagonal, consists of pairs (query, key).
static ${device}const opened_line ${PREFIX}LINES[] = {
    {${line.step}, ${line.key_factor}, ${line.first}, ${format_real(line.value)}}, % for _, line in ipairs(visibility.flat)
};
static ${device}const int ${PREFIX}FIRST_LINE[] = {${visibility.starts_text}}; /* index of each head's first line, then the number of lines */
% if visibility.any_corner then
static ${device}const bool ${PREFIX}CORNER[] = {${visibility.corners_text}}; /* whether a head's first query sees the last key */
% end
