% section("functions")
class ${names.Direction}(nn.Linear):
    """Two terms for each query and head: one for its logits with keys to its right, one for its other logits. A linear
    map computes them from the layer's input."""

    def __init__(self):
        super().__init__(WIDTH, 2 * HEADS)
        self.scale = nn.Parameter(torch.empty(1))

    def forward(self, h):
        """Terms of the logits [B][HEADS][T][T]; h [B][T][WIDTH]."""
        right, left = super().forward(h).unflatten(-1, (HEADS, 2)).transpose(1, 2).split(1, dim=-1)
        index = torch.arange(h.shape[1], device=h.device)
        return self.scale * torch.where(index > index[:, None], right, left)


self.direction = ${names.Direction}() % section("members")
${inner} + self.direction(h) % section("logit")
