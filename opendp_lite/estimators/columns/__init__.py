"""Means, variances and quantiles of many columns."""
