% section("functions")
def ${names.sum_between}(term):
    """[..][query][key]: the sum of the tokens' terms, from the token after the key up to the query.

    The shape of the term is [..][T][1], [..][1][T], or [..][T][T] with the values on the diagonal.
    """
    tokens = max(term.shape[-2:])
    sums = term.expand(*term.shape[:-2], tokens, tokens).diagonal(dim1=-2, dim2=-1).cumsum(dim=-1)
    return sums[..., :, None] - sums[..., None, :]


