% section("functions")
def ${names.bucket}(value, edges):
    """The number of ascending edges that are at most the value."""
    return torch.bucketize(value, value.new_tensor(edges), right=True)


