% section("functions")
def ${part.hidden}(score):
    """[T][T]: which keys (columns) a query (rows) does not see."""
    query, key = indices(score)
    offset = key - query
    return ${mask}


% section("hide")
score = score.masked_fill(${part.hidden}(score), -math.inf)
