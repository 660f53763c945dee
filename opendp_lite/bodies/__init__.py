"""The convex bodies that rows of data lie in; sensitivity is their geometry."""
