-- A recurrent network: Deletang et al. 2023. Answers are read at empty tokens after the input, one for each output, by
-- a linear map of the rectified state. States of a simple RNN are rectified already.

return function(net, model)
  local states = net:recur("hidden", net:stream("source"), model.cell)
  local rectified = model.cell == "rnn" and states or net:activation("features", states, "relu")
  net:classify(net:readout(rectified, "last"))
end
