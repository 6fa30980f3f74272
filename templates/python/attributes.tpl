% for _, module in ipairs(modules) do
% if module.entries then
self.${module.name} = ${module.type}({
% for _, entry in ipairs(module.entries) do
    "${entry.name}": ${entry.text},
% end
})
% else
self.${module.name} = ${module.text}
% end
% end
