"""What every estimator shares: budgets, bounds, noise laws, estimates and their intervals."""
