% section("functions")
class ${names.Relative}(nn.Module):
    """Logits q (k + a), with a learned vector a for each clipped distance. All heads share a (Shaw et al. 2018)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.empty(${relative_rows}, WIDTH // HEADS))

    def forward(self, query, key, distance):
        """Logits [B][HEADS][T][T] before they are scaled; query, key [B][HEADS][T][D], distance [T][T]."""
        rows = self.table[distance.clamp(-${clip}, ${farthest}) + ${clip}]
        return query @ key.transpose(-1, -2) + torch.einsum("bhid,ijd->bhij", query, rows)


self.relative = ${names.Relative}() % section("members")
self.relative(query, key, ${distance}) / math.sqrt(WIDTH // HEADS) % section("logit")
