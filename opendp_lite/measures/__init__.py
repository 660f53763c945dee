"""What privacy loss is measured in, its laws, and how one measure converts to another."""
