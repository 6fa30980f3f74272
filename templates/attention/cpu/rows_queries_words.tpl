% if terms.biases then
/* Adds to dq, without its factors still, what a group's queries get through the rows; the biases get the sums over
 * queries. */
% else
/* Adds to dq, without its factors still, what a group's queries get through the rows. */
% end
