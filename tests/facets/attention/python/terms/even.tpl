% section("functions")
def ${names.odd}(score):
    """[HEADS][T][S]: whether a query (rows) does not see a key (columns): in the first heads those at odd offsets, if
    there are several keys."""
    query, key = indices(score)
    even_heads = torch.arange(HEADS, device=score.device)[:, None, None] < ${spacing}
    return even_heads & ((key - query) % 2 == 1) & (score.shape[-1] > 1)


% section("hide")
score = score.masked_fill(${names.odd}(score), -math.inf)
