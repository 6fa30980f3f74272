% if computation then
def with_outputs(inputs, outputs):
    """[B][T]: the tokens of inputs [B][n], ${computation.text} for each, then the empty token at the place of every
    output."""
    inputs = torch.as_tensor(inputs)
    batch, count = inputs.shape
    computation = inputs.new_full((batch, ${computation.times_text}count), COMPUTATION)
    return torch.cat([inputs, computation, inputs.new_full((batch, outputs), EMPTY)], dim=1)
% else
def with_outputs(inputs, outputs):
    """[B][T]: the tokens of inputs [B][n], then the empty token at the place of every output."""
    inputs = torch.as_tensor(inputs)
    return torch.cat([inputs, inputs.new_full((len(inputs), outputs), EMPTY)], dim=1)
% end


def compute_logits(model, example, count):
    """[count][CLASSES]: the model's logits of an example of stored.jsonl."""
    tokens = with_outputs([example["input"]], count)
    return model(tokens${check_arguments})[0, -count:]
