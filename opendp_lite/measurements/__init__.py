"""Randomised steps and their privacy."""
