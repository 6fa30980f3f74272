% section("functions")
class ${names.Geometric}(nn.Module):
    """The logits of the event that a key matches: scale * (q + u) k + offset (Csordas et al. 2022)."""

    def __init__(self):
        super().__init__()
        self.content_bias = nn.Parameter(torch.empty(HEADS, WIDTH // HEADS))
        self.scale = nn.Parameter(torch.empty(1))
        self.offset = nn.Parameter(torch.empty(1))

    def forward(self, query, key):
        """Logits [B][HEADS][T][T]; query, key [B][HEADS][T][D]."""
        return self.scale * ((query + self.content_bias[:, None]) @ key.transpose(-1, -2)) + self.offset


self.geometric = ${names.Geometric}() % section("members")
self.geometric(query, key) % section("logit")
