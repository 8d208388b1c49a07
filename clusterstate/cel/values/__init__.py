"""What expressions work with: types, values, equality, order, conversions."""
