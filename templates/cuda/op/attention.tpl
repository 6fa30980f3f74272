% for _, turn in ipairs(turned) do
% call(prefix .. "rotate", 1, turn.positions, turn.T, turn.stride, turn.x)
% end
% call(prefix .. "attend", drops and not eval_dropout and "training")
