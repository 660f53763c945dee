"""The algebra: steps, joins, and what can be asked of a pipeline."""
