classify(${x}, ${training and "true" or "false"});
% if training and device.has_pass_losses then
add_up(b->replica.shard_sums + shard, count_passes() > 1);
% elseif training then
add_up(b->replica.shard_sums + shard);
% else
% local first_result = cuda.products == "library" and "0" or "(size_t)(blockIdx.x / a.team) * a.sequences"
write_answers(${device.has_passes and "(lh_cuda_loop_answer *)" or ""}a.answers, (real *)a.logits, a.classes, ${first_result});
% end
