"""The results of runs: the result and its tables, text, reasons, plots, and the directories that hold them."""
