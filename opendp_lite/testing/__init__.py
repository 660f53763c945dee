"""Falsifiers: they try to show that a claimed map is wrong. Use them on your own steps."""
