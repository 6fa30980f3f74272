% -- Weights of geometric attention without division by their sum.
${prefix}store_head(m.out, 1, out); % section("end_walk")
