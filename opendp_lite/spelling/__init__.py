"""How calls are typed and kept, and what is meant by a name that is not there."""
