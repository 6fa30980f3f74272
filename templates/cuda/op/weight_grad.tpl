% call("product_gradient", inner, columns, "all_rows()", x, dy, dweight)
% if dbias then
% call("column_sums", "all_rows()", columns, dy, dbias)
% end
