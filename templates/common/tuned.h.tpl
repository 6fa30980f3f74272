% include("parts/banner.tpl", { template = "common/tuned.h.tpl", lines = comments.tuned })
#ifndef LH_TUNED_H
#define LH_TUNED_H

#include "kernels/cpu/level.h"

% for i, level in ipairs(tuned) do
#if defined(LH_LEVEL_${level.tag}) % if i == 1
#elif defined(LH_LEVEL_${level.tag}) % else
enum {
% for _, choice in ipairs(level.choices) do
    ${constant.name} = ${constant.value}, % for _, constant in ipairs(choice.constants)
% end
};
#define LH_CHOICES(CHOICE) \
% for _, choice in ipairs(level.choices) do
    CHOICE("${choice.name}", "${choice.value}", "${choice.from}") \
% end
    CHOICE(NULL, NULL, NULL)
% end
#endif

#endif
