"""Values that know nothing of tensors: dtypes, devices, layouts, sizes, meta arrays."""
