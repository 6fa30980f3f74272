self.dropout = nn.Dropout(${dropout}) % section("members_of_weights")
self.dropout(${inner}) % section("weights")
