"""What every room may use: errors, public names, processes, copies of frozen values."""
