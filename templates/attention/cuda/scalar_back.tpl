% -- Prints a nest that computes gradients of parameters, with sums over a block. generator/expression/nests_cuda.lua
% -- makes the nest.
real ${sum.name}[${sum.extent}] = {0}; % for _, sum in ipairs(nest.sums)
% include("attention/cuda/scalar_nest.tpl", { nest = nest })
add_block_sums(${sum.member}, ${sum.name}, ${sum.extent}, staging); % for _, sum in ipairs(nest.sums)
__syncthreads(); % if nest.barrier_within
% for _, scatter in ipairs(nest.scatters) do
add_listed(${scatter.member}, ${scatter.heads}, ${scatter.size}, ${scatter.index}, ${scatter.index_stride}, ${scatter.value},
        ${scatter.count});
% end
__syncthreads(); % if nest.barrier_after
