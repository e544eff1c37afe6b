"""The tools of every floor: checked arguments, quantities with units, texts on their way out."""
