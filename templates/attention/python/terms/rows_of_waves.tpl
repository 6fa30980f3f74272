% section("functions")
class ${names.Relative}(nn.Module):
    """Logits (q + u) k + (q + v) W R with two biases u, v and the distance's sinusoid R (Dai et al. 2019)."""

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


self.relative = ${names.Relative}() % section("members")
self.relative(query, key, ${distance}) / math.sqrt(WIDTH // HEADS) % section("logit")
