% section("functions")
def ${names.change_score}(score${score.arguments}):
    """Scores [B][HEADS][queries][keys] from scaled logits of the same shape."""
    score = score.to(torch.promote_types(score.dtype, torch.float32))  # 16-bit types cannot hold all positions
    constants = {name: constant.to(score) for name, constant in CONSTANTS.items()} % if #score.constants > 0
    index = torch.arange(score.shape[${score.queries}], device=score.device).to(score) % if score.index
    memory_index = torch.arange(score.shape[-1], device=score.device).to(score) % if score.memory_index
    length = score.new_ones(score.shape[${score.queries}]).sum() % if score.length
    key_length = score.new_ones(score.shape[-1]).sum() % if score.key_length
    head = torch.arange(HEADS, device=score.device)[:, None, None] % if score.head
    distance = distance.to(score) % if score.distance
    positions = positions.to(score) % if score.positions
    layer = score.new_tensor(float(layer)) % if score.layer
    values = {name: value.to(score) for name, value in values.items()} % if score.values
    ${line} % for _, line in ipairs(score.lines)


% section("members") % if score.token_parameters[1]
self.values = nn.Linear(WIDTH, ${score.value_width})
% section("late_members")
self.score = nn.ParameterDict({ % if #score.own > 0 then
    "${p.name}": ${p.text}, % for _, p in ipairs(score.own)
})
% section("change")
% if score.token_parameters[1] then
values = self.values(h).unflatten(-1, (-1, HEADS)).permute(2, 0, 3, 1)[..., None, :]
values = dict(zip([${score.value_names}], values))
% elseif score.values then
values = {}
% end
% for _, product in ipairs(score.products) do
vector = self.score["${product.name}"]
vector = vector / vector.norm(dim=-1, keepdim=True).clamp(min=1e-6) % if product.unit
values["${product.name}"] = (${product.operand} @ vector[..., None])${product.transposition}
% end
score = ${names.change_score}(score${score.passed_arguments}).to(query)
