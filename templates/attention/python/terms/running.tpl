% section("functions")
def ${names.sum_between}(term):
    """The sum of a term [B][HEADS][1][T] of each token, over the tokens after the key (columns), up to the query (rows)."""
    sums = term.cumsum(dim=-1)
    return sums.transpose(-1, -2) - sums


self.values = nn.Linear(WIDTH, ${score.value_width}) % section("members")
