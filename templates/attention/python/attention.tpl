% -- An attention as a PyTorch module. In the slots, terms insert functions, members of the class, and changes of logits.
% -- new_terms: the terms whose functions no earlier class has
% slot("functions", { terms = new_terms })
class ${name}(nn.Module):
    def __init__(self${layer_argument}):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH${query_bias})
        self.key = nn.Linear(WIDTH, WIDTH${memory_bias})
        self.value = nn.Linear(WIDTH, WIDTH${memory_bias})
        self.output = nn.Linear(WIDTH, WIDTH${output_bias}) % if output
        % slot("members_of_weights")
        % slot("members")
        self.layer = layer % if layer_argument ~= ""
        % slot("late_members")

    def forward(self, ${arguments}):
        query, key, value = (x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                             for x in (self.query(h), self.key(${memory}), self.value(${memory})))
        % slot("rotate_rows")
        score = ${inline("logit", "query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)")}
        % slot("change")
        % slot("add_lines")
        score = score / ${f64(temperature)} % if temperature
        % slot("hide")
        mixed = ${inline("weights", "score.softmax(dim=-1)")} @ value
        return self.output(mixed.transpose(1, 2).flatten(-2)) % if output
        return mixed.transpose(1, 2).flatten(-2) % else


