% call((training and "forward_" or "evaluate_") .. name .. "s")
