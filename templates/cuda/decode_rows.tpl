/* Functions that process one token of each sequence: row s of an array belongs to the token of sequence s. */
% for _, embedding in ipairs(device.embeddings) do
% if embedding.stream == device.decoding.index then

% include("cuda/embed.tpl", embedding)
% end
% end
% for _, family in ipairs(attentions) do
% if family.is_decoded then
% slot("rotation_functions", family.on_device)
% include("attention/cuda/attend_one.tpl", family.on_device)
% end
% end

% include("cuda/logits.tpl")
