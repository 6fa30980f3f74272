embed_backward(${gradients});
