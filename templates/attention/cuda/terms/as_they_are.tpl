% section("end_walk")
${prefix}store_head(m.out, 1, out);
