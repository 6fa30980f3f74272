% local is_yarn = rope.scaling.kind == "yarn"
% section("functions")
def ${names.rotate}(vectors, positions):
    """Rotates adjacent pairs of channels by the token's position; vectors [B][HEADS][T][D]."""
    width = WIDTH // HEADS
    base = ${f64(rope.base)} * ${f64(rope.scaling.factor)} ** (width / (width - 2)) % if rope.scaling.kind == "ntk"
    base = ${f64(rope.base)} % else
    speed = base ** (-2 * torch.arange(width // 2, device=positions.device).double() / width)
% if rope.scaling.kind == "linear" then
    speed = speed / ${f64(rope.scaling.factor)}
% elseif rope.scaling.kind == "yarn" then
    turns = ${rope.scaling.original_length} * speed / (2 * math.pi)
    slow, fast = ${f64(rope.scaling.beta_slow)}, ${f64(rope.scaling.beta_fast)}
    share = ((turns - slow) / (fast - slow)).clamp(0, 1)
    speed = (1 - share) * speed / ${f64(rope.scaling.factor)} + share * speed
% end
    positions = positions % ${cyclic} % if cyclic
    angle = positions.double()[:, None, :, None] * speed % if by_sequence
    angle = positions.double()[:, None] * speed % else
    cosine, sine = (x.to(vectors) for x in (angle.cos(), angle.sin()))
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    rotated = torch.stack([even * cosine - odd * sine, odd * cosine + even * sine], dim=-1)
% local given_factor = is_yarn and rope.scaling.attention_factor and f64(rope.scaling.attention_factor) .. " * "
% local attention_factor = given_factor or is_yarn and ("(0.1 * math.log(%s) + 1) * "):format(f64(rope.scaling.factor)) or ""
    rotated = ${attention_factor}rotated.flatten(-2) % if rope.heads
    return torch.cat([rotated[:, :${rope.heads}], vectors[:, ${rope.heads}:]], dim=1) % if rope.heads
    return ${attention_factor}rotated.flatten(-2) % else


query, key = ${names.rotate}(query, positions), ${names.rotate}(key, ${memory_positions}) % section("rotate_rows")
