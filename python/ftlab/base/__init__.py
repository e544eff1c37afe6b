"""What every floor uses: checked arguments, quantities with units, texts on their way out."""
