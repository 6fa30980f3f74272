% section("functions")
class ${names.Relative}(nn.Module):
    """Logits q (k + e). The count of a key is the sum of the query's gates from the key up to the query. The vector
    e interpolates between the table's vectors at the integers below and above the count (Golovneva et al. 2024)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.empty(${relative_rows}, WIDTH // HEADS))

    def forward(self, query, key):
        """Scaled logits [B][HEADS][T][T]; query, key [B][HEADS][T][D]."""
        query = query / math.sqrt(WIDTH // HEADS)
        score = query @ key.transpose(-1, -2)
        gates = score.sigmoid().tril()
        counts = gates.flip(-1).cumsum(dim=-1).flip(-1).clamp(max=self.table.shape[0] - 1)
        products = query @ self.table.T * ${f64(count_factor)} % if count_factor
        products = query @ self.table.T % else
        low, high = (products.gather(-1, row.long()) for row in (counts.floor(), counts.ceil()))
        return score + torch.lerp(low, high, counts - counts.floor())


self.relative = ${names.Relative}() % section("members")
self.relative(query, key) % section("logit")
