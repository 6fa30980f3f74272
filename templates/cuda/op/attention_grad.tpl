% call("attend_backward", cuda.layer_gradients and gradients)
% if rotation.kind == "rope" then
rotate(-1, ${dq});
% end
