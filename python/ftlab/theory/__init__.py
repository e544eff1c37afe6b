"""Write amplification from formulas, which know nothing of the engine."""
