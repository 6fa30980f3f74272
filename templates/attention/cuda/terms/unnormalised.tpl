${prefix}store_head(m.out, 1, out); % section("end_walk")
