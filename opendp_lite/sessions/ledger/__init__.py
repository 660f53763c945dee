"""A budget kept in a file."""
