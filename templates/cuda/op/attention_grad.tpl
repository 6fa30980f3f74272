% call(prefix .. "attend_backward", layer_gradients and gradients)
% for _, turn in ipairs(turned) do
% call(prefix .. "rotate", -1, turn.positions, turn.T, turn.stride, turn.x)
% end
