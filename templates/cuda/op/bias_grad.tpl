% call("column_sums", "all_rows()", columns, dy, dbias)
