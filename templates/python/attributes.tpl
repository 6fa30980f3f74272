% for _, module in ipairs(modules) do
% if module.entries then
self.${module.name} = ${module.type}({
    "${entry.name}": ${entry.text}, % for _, entry in ipairs(module.entries)
})
% else
self.${module.name} = ${module.text}
% end
% end
