% section("functions")
def ${part.odd}(score):
    """[HEADS][T][S]: which keys (columns) a query (rows) does not see: in the first heads, of several, those at odd
    offsets."""
    query, key = indices(score)
    even_heads = torch.arange(HEADS, device=score.device)[:, None, None] < ${spacing}
    return even_heads & ((key - query) % 2 == 1) & (score.shape[-1] > 1)


% section("hide")
score = score.masked_fill(${part.odd}(score), -math.inf)
