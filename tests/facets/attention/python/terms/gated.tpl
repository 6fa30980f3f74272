% section("members")
self.gate = nn.Linear(WIDTH, HEADS, bias=False)
% section("change")
query_index, key_index = indices(score)
score = score - (key_index - query_index).abs() * self.gate(h).transpose(1, 2)[:, :, None]
