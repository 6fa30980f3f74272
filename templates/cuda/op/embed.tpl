% local asked = training and "true" or "false"
% if device.masks[1] and (training or eval_dropout) then
% call("draw_masks", eval_dropout and asked)
% end
% call("embed", device.embedding.drops and not eval_dropout and asked)
