% section("functions")
def ${names.sum_to_query}(term, score):
    """[..][query][key]: the sum of the term over the keys from this key up to the query.

    The term broadcasts to the shape of scores. The sum of a key after the query is the term of this key.
    """
    term = term + torch.zeros_like(score)
    seen = torch.ones_like(score, dtype=torch.bool).tril()
    return torch.where(seen, torch.where(seen, term, 0.0).flip(-1).cumsum(dim=-1).flip(-1), term)


