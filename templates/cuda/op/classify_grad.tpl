% call("classify_backward", x, gradients)
