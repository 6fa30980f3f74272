% if turned then
rotate(1, ${turned});
% end
% call("attend", drops and not eval_dropout and "training")
