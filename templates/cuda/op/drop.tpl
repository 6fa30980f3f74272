% if when ~= "never" then
% call((when == "training" and "if (training) " or "") .. "drop_rows", rows .. " * " .. columns, x, mask, rate)
% end
