% local offset = stride and ("key - score.shape[-1] + %d * query"):format(stride) or "key - query"
% local or_all = (stride or crosses) and "; a query that would see no key sees all" or ""
% section("functions")
def ${names.hidden}(score):
    """[T][S]: True where a query (row) does not see a key (column)${or_all}."""
    query, key = indices(score)
    offset = ${offset}
    outside = ${mask} % if stride or crosses
    return outside & ~outside.all(dim=-1, keepdim=True) % if stride or crosses
    return ${mask} % else


score = score.masked_fill(${names.hidden}(score), -math.inf) % section("hide")
