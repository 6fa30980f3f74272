% section("functions")
def ${part.change_score}(score${score.arguments}):
    """Scores [B][HEADS][queries][keys] from scaled logits of the same shape."""
    score = score.to(torch.promote_types(score.dtype, torch.float32))  # 16-bit types cannot hold all positions
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


% section("late_members")
% if #score.own > 0 then
self.score = nn.ParameterDict({
% for _, p in ipairs(score.own) do
    "${p.name}": ${p.text},
% end
})
% end
% section("change")
score = ${part.change_score}(score${score.pass}).to(query)
