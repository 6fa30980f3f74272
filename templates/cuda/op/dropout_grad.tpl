% call("dropout_grad", rows, dy, dropout.mask, dropout.rate, to)
