% if readout == "probe" then
def answers(logits, inputs):
    """[B][1][CLASSES]: from logits [B][n][CLASSES], those at the probe token of inputs [B][n]."""
    place = (torch.as_tensor(inputs, device=logits.device) == PROBE).int().argmax(dim=1)
    return logits[torch.arange(len(logits), device=logits.device), place][:, None]
% elseif readout == "in_place" then
def answers(logits, _):
    """[B][n][CLASSES]: the logits, an answer at each token."""
    return logits
% else
def answers(logits, _):
    """[B][1][CLASSES]: from logits [B][n][CLASSES], those at the last token."""
    return logits[:, -1:]
% end


def compute_logits(model, example, count):
    """[count][CLASSES]: the model's logits of an example of stored.jsonl."""
    tokens = torch.as_tensor([example["input"]])
    return answers(model(tokens${check_arguments}), tokens)[0, :count]
