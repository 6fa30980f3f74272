% -- Computes the loss after one pass, adds its gradients, and stores the gradient of the pass's output.
classify(${output}, true);
add_up(b->replica.shard_sums + shard, ${index} > 0);
classify_backward(${output}, b->gradient, ${index} > 0);
copy_rows(all_rows(), ${gradient}, b->${name}.loss_gradient);
