% if draws_distances and independent then
def draw_distances(tokens, given):
    """[2][T], right and left, for tokens [B][T]: element k is the distance of two tokens that are k apart. Returns
    the given distances, or if there are none, 0 and then ascending samples ${range_words} for each side."""
    if given is not None:
        return torch.as_tensor(given, device=tokens.device).expand(2, -1)
    drawn = torch.stack([1 + ${distance_text}[:tokens.shape[1] - 1].sort().values for _ in range(2)])
    return torch.cat([drawn.new_zeros(2, 1), drawn], dim=1)


def pair_distances(drawn):
    """[T][T]: signed distances of keys (columns) from queries (rows)."""
    index = torch.arange(drawn.shape[1], device=drawn.device)
    offset = index - index[:, None]
    return offset.sign() * drawn[(offset < 0).long(), offset.abs()]


% elseif draws_distances then
def draw_distances(tokens, given):
    """[T], for tokens [B][T]: element k is the distance of two tokens that are k apart. Returns the given
    distances, or if there are none, 0 and then ascending samples ${range_words}."""
    if given is not None:
        return torch.as_tensor(given, device=tokens.device)
    drawn = 1 + ${distance_text}[:tokens.shape[1] - 1].sort().values
    return torch.cat([drawn.new_zeros(1), drawn])


def pair_distances(drawn):
% if clamped then
    """[T][T]: for each query (row) and key (column) the index of a row of the table, at most the last one, as in the
    released code of Ruoss et al."""
% else
    """[T][T]: signed distances of keys (columns) from queries (rows)."""
% end
    index = torch.arange(drawn.shape[0], device=drawn.device)
    offset = index - index[:, None]
% if clamped then
    return (offset.sign() * drawn[offset.abs()] + MAX_POSITION).clamp(max=MAX_POSITION - 1)
% else
    return offset.sign() * drawn[offset.abs()]
% end


% end
