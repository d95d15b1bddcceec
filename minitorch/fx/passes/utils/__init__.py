"""Tools that passes are made of."""
