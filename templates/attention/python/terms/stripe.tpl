% section("functions")
def ${part.hidden}(score):
    """[T][S]: which keys (columns) a query (rows) does not see, around a line; it sees all where it would see none."""
    query, key = indices(score)
    offset = key - score.shape[-1] + ${stride} * query
    outside = ${mask}
    return outside & ~outside.all(dim=-1, keepdim=True)


% section("hide")
score = score.masked_fill(${part.hidden}(score), -math.inf)
