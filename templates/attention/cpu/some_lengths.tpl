% if of_T and of_S then
const int T = head->T, S = head->S;
% elseif of_T then
const int T = head->T;
% elseif of_S then
const int S = head->S;
% end
