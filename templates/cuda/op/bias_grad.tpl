% call("column_sums", rows, columns, dy, dbias)
