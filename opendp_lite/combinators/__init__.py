"""Steps made of other pipelines."""
