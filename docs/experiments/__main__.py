"""Runs the published experiments again: ``python docs/experiments plan-b --quick``."""

import sys

try:
    from command_line import main
except ModuleNotFoundError as missing:
    sys.exit(
        f"the experiments need {missing.name}, which is not installed; type: "
        'pip install ".[plot]" in the checkout'
    )

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
