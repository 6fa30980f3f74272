% -- If several lanes share a head, only the first of them loads the head's earlier sums, adds to them and stores them.
% -- resumes: the condition for loading sums of earlier sequences
% -- continues: the condition for loading sums of earlier sequences or layers
% -- skip_other_lanes: lanes that do not lead a head store no numbers
${inner} && ${prefix}leads_head() % section("resumes")
${prefix}leads_head() && (${inner}) % section("continues")
if (!${prefix}leads_head()) continue; % section("skip_other_lanes") % if sums_head_numbers
