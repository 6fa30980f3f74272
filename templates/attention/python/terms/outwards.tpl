% section("functions")
def ${names.match_first}(score):
    """Weights [B][HEADS][T][T]: the probability that a key is the first one that matches. Keys are visited outwards,
    at each distance first the key on the right."""
    query, key = indices(score)
    offset = key - query
    score = score.masked_fill(offset == 0, -math.inf)
    order = (2 * offset.abs() + (offset < 0)).argsort(dim=-1).expand_as(score)
    tried = score.gather(-1, order)  # first the query itself, which never matches
    missed = (-tried).sigmoid().cumprod(dim=-1)
    weight = torch.zeros_like(score).scatter(-1, order, tried.sigmoid() * missed.roll(1, dims=-1))
    return weight / weight.sum(dim=-1, keepdim=True).clamp(min=1e-12)  # a query without a match has small weights % if geometric.normalised
    return weight % else


${names.match_first}(score) % section("weights")
