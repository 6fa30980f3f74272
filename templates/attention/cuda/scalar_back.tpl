% for _, sum in ipairs(nest.sums) do
real ${sum.name}[${sum.extent}] = {0};
% end
% include("attention/cuda/scalar_nest.tpl", { nest = nest })
% for _, sum in ipairs(nest.sums) do
add_block_sums(${sum.member}, ${sum.name}, ${sum.extent}, staging);
% end
__syncthreads(); % if nest.barrier_within
% for _, list in ipairs(nest.scatters) do
add_listed(${list.member}, ${list.heads}, ${list.size}, ${list.index}, ${list.index_stride}, ${list.value},
        ${list.count});
% end
__syncthreads(); % if nest.barrier_behind
