% section("resumes")
${inner} && ${prefix}leads_head()
% section("goes_on")
${prefix}leads_head() && (${inner})
% section("lead_alone")
if (!${prefix}leads_head()) continue; % if leads
