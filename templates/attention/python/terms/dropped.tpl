% section("members_of_weights")
self.dropout = nn.Dropout(${dropout})
% section("weights")
self.dropout(${inner})
