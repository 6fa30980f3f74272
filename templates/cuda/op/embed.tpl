% local asked = training and "true" or "false"
% if draws_masks and (training or eval_dropout) then
% call("draw_masks", eval_dropout and asked)
% end
% call(routine, (drops and not eval_dropout or noise) and asked)
