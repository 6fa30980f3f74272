% -- If all heads share the vectors of distances, the sums of their gradients are stored separately for each head.
% section("store")
${prefix}store_head(drow, 1,
        sums->${prefix}rows + ((size_t)l * ${PREFIX}HEADS * ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view}) + task) * ${PREFIX}HEAD_WIDTH${attends.channel});
((size_t)l * ${PREFIX}HEADS * count + task) * ${PREFIX}HEAD_WIDTH % section("place_of_row")
