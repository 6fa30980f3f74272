${routine}_backward(${gradients});
