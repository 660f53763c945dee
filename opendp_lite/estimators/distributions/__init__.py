"""How one column is distributed."""
