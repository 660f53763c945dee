"""What is computed from releases."""
