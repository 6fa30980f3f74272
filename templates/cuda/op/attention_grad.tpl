% call("attend_backward", cuda.layer_gradients and gradients)
% if turned then
rotate(-1, ${turned});
% end
