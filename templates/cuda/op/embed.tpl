% local asked = training and "true" or "false"
% if device.drops and (training or eval_dropout) then
% call("draw_masks", eval_dropout and asked)
% end
% call("embed", additive.dropout.kind == "bernoulli" and not eval_dropout and asked)
