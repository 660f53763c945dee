"""Public matrices that noise is added behind, so that all shares below a number have little."""
