% include("parts/banner.tpl", { template = "common/defaults.inc.tpl", lines = comments.defaults })

static const char defaults[${defaults.reserved}] =
% for i, line in ipairs(defaults.lines) do
        "${line}" % if i < #defaults.lines
        "${line}"; % else
% end
