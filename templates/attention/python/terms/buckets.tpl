% section("functions")
def ${names.bucket}(value, edges):
    """The number of edges <= value. Edges ascend."""
    return torch.bucketize(value, value.new_tensor(edges), right=True)


