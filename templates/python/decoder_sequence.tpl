def with_target(inputs, target):
% if two_streams and computation then
    """Two streams: the tokens of inputs [B][n], ${computation.text} for each; the separator and the tokens of
    target [B][m] without the last."""
% elseif two_streams then
    """Two streams: the tokens of inputs [B][n]; the separator and the tokens of target [B][m] without the last."""
% elseif computation then
    """[B][T]: the tokens of inputs [B][n], ${computation.text} for each, the separator, the tokens of target [B][m]
    without the last."""
% else
    """[B][T]: the tokens of inputs [B][n], the separator, the tokens of target [B][m] without the last."""
% end
    inputs = torch.as_tensor(inputs)
    target = torch.as_tensor(target, device=inputs.device)
% if computation then
    computation = inputs.new_full((len(inputs), ${computation.times_text}inputs.shape[1]), COMPUTATION)
    inputs = torch.cat([inputs, computation], dim=1)
% end
    separator = inputs.new_full((len(inputs), 1), SEPARATOR)
    return inputs, torch.cat([separator, FIRST_OUTPUT + target[:, :-1]], dim=1) % if two_streams
    return torch.cat([inputs, separator, FIRST_OUTPUT + target[:, :-1]], dim=1) % else


@torch.no_grad()
def decode(model, inputs, outputs${forward_arguments}):
% if by_task then
    """[B][outputs]: for inputs [B][n] the likeliest symbols, each predicted after the symbols before it.
    positions: those that the model's forward pass needs for a target with `outputs` symbols."""
% else
    """[B][outputs]: for inputs [B][n] the likeliest symbols, each predicted after the symbols before it."""
% end
    inputs = torch.as_tensor(inputs, device=next(model.parameters()).device)
    target = inputs.new_zeros(len(inputs), outputs)
    for t in range(outputs):
        target[:, t] = model(${star}with_target(inputs, target)${call_arguments})[:, t - outputs].argmax(dim=-1)
    return target


def compute_logits(model, example, count):
    """[count][CLASSES]: the model's logits of an example of stored.jsonl."""
    tokens = with_target([example["input"]], [example["output"]])
    return model(${star}tokens${check_arguments})[0, -len(example["output"]):][:count]
