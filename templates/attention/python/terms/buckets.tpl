% section("functions")
def ${part.bucket}(value, edges):
    """How many of the ascending edges are at most the value."""
    return torch.bucketize(value, value.new_tensor(edges), right=True)


