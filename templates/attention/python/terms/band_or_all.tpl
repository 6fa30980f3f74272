% section("functions")
def ${part.hidden}(score):
    """[T][S]: which keys (columns) a query (rows) does not see; it sees all where it would see none."""
    query, key = indices(score)
    offset = key - query
    outside = ${mask}
    return outside & ~outside.all(dim=-1, keepdim=True)


% section("hide")
score = score.masked_fill(${part.hidden}(score), -math.inf)
