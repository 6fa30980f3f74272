% section("functions")
def ${names.line_values}(score):
    """[HEADS][T][S]: terms of the scores on lines of pairs, else minus infinity; 0 if a query would see no key."""
    i, j = indices(score)
    keys = score.shape[-1]
    line_of = {1: j - i, -1: keys - 1 - i - j, 0: ${lines.column} + 0 * i}
    gain = torch.full_like(score[0], -math.inf)
    for head, direction, line, value in (
        ${row}, % for _, row in ipairs(lines.rows)
    ):
        gain[head] = torch.where(line_of[direction] == line, gain[head].clamp(min=value), gain[head])
    gain[[${lines.corners}], 0, -1] = 0.0 % if lines.corners
    gain = gain.masked_fill(j > i, -math.inf) % if lines.causal
    gain = torch.where((gain == -math.inf).all(dim=-1, keepdim=True), 0.0, gain)
    return gain.masked_fill(j > i, -math.inf) % if lines.causal
    return gain % else


score = score + ${names.line_values}(score) % section("add_lines")
