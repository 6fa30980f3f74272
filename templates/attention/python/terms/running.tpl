% section("functions")
def ${names.sum_between}(term):
    """The sum of a term of each token, over the tokens after the key (columns), up to the query (rows).

    The shape of the term is [..][T][1], [..][1][T], or [..][T][T] with the values on the diagonal.
    """
    tokens = max(term.shape[-2:])
    sums = term.expand(*term.shape[:-2], tokens, tokens).diagonal(dim1=-2, dim2=-1).cumsum(dim=-1)
    return sums[..., :, None] - sums[..., None, :]


