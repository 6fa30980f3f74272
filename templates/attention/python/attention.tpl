% if new.rope then
def ${part.rotate}(vectors, positions):
    """Turns adjacent pairs of channels by their position; vectors [B][HEADS][T][D]."""
    width = WIDTH // HEADS
% if rope.scaling.kind == "ntk" then
    base = ${f64(rope.base)} * ${f64(rope.scaling.factor)} ** (width / (width - 2))
% else
    base = ${f64(rope.base)}
% end
    speed = base ** (-2 * torch.arange(width // 2, device=positions.device).double() / width)
% if rope.scaling.kind == "linear" then
    speed = speed / ${f64(rope.scaling.factor)}
% elseif rope.scaling.kind == "yarn" then
    turns = ${rope.scaling.original_length} * speed / (2 * math.pi)
    slow, fast = ${f64(rope.scaling.beta_slow)}, ${f64(rope.scaling.beta_fast)}
    kept = ((turns - slow) / (fast - slow)).clamp(0, 1)
    speed = (1 - kept) * speed / ${f64(rope.scaling.factor)} + kept * speed
% end
% if cyclic then
    positions = positions % ${cyclic}
% end
% if by_sequence then
    angle = positions.double()[:, None, :, None] * speed
% else
    angle = positions.double()[:, None] * speed
% end
    cosine, sine = (x.to(vectors) for x in (angle.cos(), angle.sin()))
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack([even * cosine - odd * sine, odd * cosine + even * sine], dim=-1)
% if rope.scaling.kind == "yarn" and rope.scaling.attention_factor then
    return ${f64(rope.scaling.attention_factor)} * turned.flatten(-2)
% elseif rope.scaling.kind == "yarn" then
    return (0.1 * math.log(${f64(rope.scaling.factor)}) + 1) * turned.flatten(-2)
% else
    return turned.flatten(-2)
% end


% end
% if new.mask and stride then
def ${part.hidden}(score):
    """[T][S]: which keys (columns) a query (rows) does not see, around a line; it sees all where it would see none."""
    query, key = indices(score)
    offset = key - score.shape[-1] + ${stride} * query
    outside = ${mask}
    return outside & ~outside.all(dim=-1, keepdim=True)


% elseif new.mask and crosses then
def ${part.hidden}(score):
    """[T][S]: which keys (columns) a query (rows) does not see; it sees all where it would see none."""
    query, key = indices(score)
    offset = key - query
    outside = ${mask}
    return outside & ~outside.all(dim=-1, keepdim=True)


% elseif new.mask then
def ${part.hidden}(score):
    """[T][T]: which keys (columns) a query (rows) does not see."""
    query, key = indices(score)
    offset = key - query
    return ${mask}


% end
% if new.lines then
def ${part.line_values}(score):
    """[HEADS][T][S]: what scores gain on lines of pairs, else minus infinity; 0 where a query would see nothing."""
    i, j = indices(score)
    keys = score.shape[-1]
    line_of = {1: j - i, -1: keys - 1 - i - j, 0: ${lines.column} + 0 * i}
    gain = torch.full_like(score[0], -math.inf)
    for head, direction, line, value in (
% for _, row in ipairs(lines.rows) do
        ${row},
% end
    ):
        gain[head] = torch.where(line_of[direction] == line, gain[head].clamp(min=value), gain[head])
% if lines.corners then
    gain[[${lines.corners}], 0, -1] = 0.0
% end
% if lines.causal then
    gain = gain.masked_fill(j > i, -math.inf)
    return torch.where((gain == -math.inf).all(dim=-1, keepdim=True), 0.0, gain).masked_fill(j > i, -math.inf)
% else
    return torch.where((gain == -math.inf).all(dim=-1, keepdim=True), 0.0, gain)
% end


% end
% if new.bucket then
def ${part.bucket}(value, edges):
    """How many of the ascending edges are at most the value."""
    return torch.bucketize(value, value.new_tensor(edges), right=True)


% end
% if new.score then
def ${part.change_score}(score${score.arguments}):
    """What becomes of the scaled logits [B][HEADS][queries][keys]."""
    score = score.to(torch.promote_types(score.dtype, torch.float32))  # positions need their digits
% if #score.constants > 0 then
    constants = {name: constant.to(score) for name, constant in CONSTANTS.items()}
% end
% if score.index then
    index = torch.arange(score.shape[${score.queries}], device=score.device).to(score)
% end
% if score.memory_index then
    memory_index = torch.arange(score.shape[-1], device=score.device).to(score)
% end
% if score.length then
    length = score.new_ones(score.shape[${score.queries}]).sum()
% end
% if score.key_length then
    key_length = score.new_ones(score.shape[-1]).sum()
% end
% if score.head then
    head = torch.arange(HEADS, device=score.device)[:, None, None]
% end
% if score.distance then
    distance = distance.to(score)
% end
% if score.positions then
    positions = positions.to(score)
% end
% if score.layer then
    layer = score.new_tensor(float(layer))
% end
% for _, line in ipairs(score.lines) do
    ${line}
% end


% end
% if new.relative and relative == "transformer_xl" then
class ${part.Relative}(nn.Module):
    """(q + u) k + (q + v) W R: u and v the two biases, R the sinusoid of the distance (Dai et al. 2019)."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH, WIDTH))
        self.content_bias = nn.Parameter(torch.empty(HEADS, WIDTH // HEADS))
        self.position_bias = nn.Parameter(torch.empty(HEADS, WIDTH // HEADS))

    def forward(self, query, key, distance):
        """Logits [B][HEADS][T][T] before they are scaled; query, key [B][HEADS][T][D], distance [T][T]."""
        rows = (sinusoid(distance, self.weight) @ self.weight).unflatten(-1, (HEADS, -1))
        content = (query + self.content_bias[:, None]) @ key.transpose(-1, -2)
        return content + torch.einsum("bhid,ijhd->bhij", query + self.position_bias[:, None], rows)


% elseif new.relative then
class ${part.Relative}(nn.Module):
    """q (k + a): a the learned vector of the distance, clipped, the same for all heads (Shaw et al. 2018)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.empty(${relative_rows}, WIDTH // HEADS))

    def forward(self, query, key, distance):
        """Logits [B][HEADS][T][T] before they are scaled; query, key [B][HEADS][T][D], distance [T][T]."""
        rows = self.table[distance.clamp(-${clip}, ${farthest}) + ${clip}]
        return query @ key.transpose(-1, -2) + torch.einsum("bhid,ijd->bhij", query, rows)


% end
% if new.geometric then
class ${part.Geometric}(nn.Module):
    """scale (q + u) k + offset: how far each key matches (Csordas et al. 2022)."""

    def __init__(self):
        super().__init__()
        self.content_bias = nn.Parameter(torch.empty(HEADS, WIDTH // HEADS))
        self.scale = nn.Parameter(torch.empty(1))
        self.offset = nn.Parameter(torch.empty(1))

    def forward(self, query, key):
        """Logits [B][HEADS][T][T]; query, key [B][HEADS][T][D]."""
        return self.scale * ((query + self.content_bias[:, None]) @ key.transpose(-1, -2)) + self.offset


% if geometric.directional then
class ${part.Direction}(nn.Linear):
    """What a query gives all keys to its right, and all to its left: a map of the layer's input."""

    def __init__(self):
        super().__init__(WIDTH, 2 * HEADS)
        self.scale = nn.Parameter(torch.empty(1))

    def forward(self, h):
        """What logits gain [B][HEADS][T][T]; h [B][T][WIDTH]."""
        right, left = super().forward(h).unflatten(-1, (HEADS, 2)).transpose(1, 2).split(1, dim=-1)
        index = torch.arange(h.shape[1], device=h.device)
        return self.scale * torch.where(index > index[:, None], right, left)


% end
def ${part.match_first}(score):
    """Weights [B][HEADS][T][T]: the chance that a key matches and none that is tried before it does. Keys are tried
    outwards, right before left."""
    query, key = indices(score)
    offset = key - query
    score = score.masked_fill(offset == 0, -math.inf)
    order = (2 * offset.abs() + (offset < 0)).argsort(dim=-1).expand_as(score)
    tried = score.gather(-1, order)  # the first is the query itself, which never matches
    missed = (-tried).sigmoid().cumprod(dim=-1)
    weight = torch.zeros_like(score).scatter(-1, order, tried.sigmoid() * missed.roll(1, dims=-1))
% if geometric.normalised then
    return weight / weight.sum(dim=-1, keepdim=True).clamp(min=1e-12)  # what nothing matches stays small
% else
    return weight
% end


% end
class ${name}(nn.Module):
    def __init__(self${layer_argument}):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH${query_bias})
        self.key = nn.Linear(WIDTH, WIDTH${memory_bias})
        self.value = nn.Linear(WIDTH, WIDTH${memory_bias})
% if output then
        self.output = nn.Linear(WIDTH, WIDTH${output_bias})
% end
% if dropout then
        self.dropout = nn.Dropout(${dropout})
% end
% if relative then
        self.relative = ${part.Relative}()
% end
% if geometric then
        self.geometric = ${part.Geometric}()
% end
% if geometric and geometric.directional then
        self.direction = ${part.Direction}()
% end
% if layer_argument ~= "" then
        self.layer = layer
% end
% if score and #score.own > 0 then
        self.score = nn.ParameterDict({
% for _, p in ipairs(score.own) do
            "${p.name}": ${p.text},
% end
        })
% end

    def forward(self, ${arguments}):
        query, key, value = (x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                             for x in (self.query(h), self.key(${memory}), self.value(${memory})))
% if rope then
        query, key = ${part.rotate}(query, positions), ${part.rotate}(key, ${memory_positions})
% end
% if geometric and geometric.directional then
        score = self.geometric(query, key) + self.direction(h)
% elseif geometric then
        score = self.geometric(query, key)
% elseif relative then
        score = self.relative(query, key, ${distance}) / math.sqrt(WIDTH // HEADS)
% else
        score = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
% end
% if score then
        score = ${part.change_score}(score${score.pass}).to(query)
% end
% if lines then
        score = score + ${part.line_values}(score)
% end
% if temperature then
        score = score / ${f64(temperature)}
% end
% if mask then
        score = score.masked_fill(${part.hidden}(score), -math.inf)
% end
% if geometric then
        mixed = ${part.match_first}(score) @ value
% elseif dropout then
        mixed = self.dropout(score.softmax(dim=-1)) @ value
% else
        mixed = score.softmax(dim=-1) @ value
% end
% if output then
        return self.output(mixed.transpose(1, 2).flatten(-2))
% else
        return mixed.transpose(1, 2).flatten(-2)
% end


