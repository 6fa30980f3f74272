% if readout == "probe" then
def answers(logits, inputs):
    """[B][1][CLASSES]: the logits, of [B][n][CLASSES], at the probe token of inputs [B][n]."""
    place = (torch.as_tensor(inputs, device=logits.device) == PROBE).int().argmax(dim=1)
    return logits[torch.arange(len(logits), device=logits.device), place][:, None]
% else
def answers(logits, _):
    """[B][1][CLASSES]: the logits, of [B][n][CLASSES], at the last token."""
    return logits[:, -1:]
% end
