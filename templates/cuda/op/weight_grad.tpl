% call("product_gradient", inner, columns, rows, x, dy, dweight)
% if dbias then
% call("column_sums", rows, columns, dy, dbias)
% end
