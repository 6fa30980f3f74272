% call("dropout_grad", "all_rows()", dy, dropout.mask, dropout.rate, to)
