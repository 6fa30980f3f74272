classify(${x}, ${training and "true" or "false"});
% if training then
add_up(b->replica.shard_sums + shard);
% else
give_answers(a.answers, (real *)a.logits, a.classes);
% end
