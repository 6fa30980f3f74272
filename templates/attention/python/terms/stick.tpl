% section("functions")
def ${names.break_stick}(score):
    """Weights [B][HEADS][T][T]: from the nearest key on, every key takes a share of what is left of a stick (Tan et al.
    2024)."""
    score = score.masked_fill(torch.ones_like(score, dtype=torch.bool).triu(), -math.inf) % if not stick.own_key
    missed = F.logsigmoid(-score)
    passed = F.pad(missed[..., 1:], (0, 1)).flip(-1).cumsum(dim=-1).flip(-1)
    weight = (F.logsigmoid(score) + passed).exp()
    return weight + missed.sum(dim=-1).exp().diag_embed()  # the rest is the weight of the query's own value % if stick.own_value
    return weight % else


${names.break_stick}(score) % section("weights")
