% -- Loops over the visible pairs of a mask with a range of keys for each query (band.tpl or stripe.tpl).
${prefix}first_key(i, ${key_count}) % section("first_key") % if visibility.left or visibility.sees_all
${prefix}end_key(i, ${inner}) % section("end_key")
${prefix}first_query(j, ${key_count}) % section("first_query")
i = ${prefix}next_query(i, j, ${key_count}) % section("next_query") % if visibility.sees_all
j >= ${inline("first_key", "0")} && j < ${prefix}end_key(i, ${key_count}) % section("exists")
if (j < ${inline("first_key", "0")} || j >= ${prefix}end_key(i, ${key_count})) continue; % section("skip_pair")
