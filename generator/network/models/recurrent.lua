-- A recurrent network: Deletang et al. 2023. Answers are read at empty tokens after the input, one for each output, by
-- a linear map of the rectified state. States of an LSTM are rectified here; the other cells rectify their states.

return function(net, model)
  local states = net:recur("hidden", net:stream("source"), model.cell, model.cells)
  local rectified = model.cell == "lstm" and net:activation("features", states, "relu") or states
  net:classify(net:readout(rectified, "last"))
end
