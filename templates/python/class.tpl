class ${name}(nn.Module):
% if docstring then
    """${docstring}"""

% end
    def __init__(self${takes_layer and ", layer" or ""}):
        super().__init__()
        % include("python/attributes.tpl")

    def forward(self, ${arguments}):
        ${line} % for _, line in ipairs(lines)


