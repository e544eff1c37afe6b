"""How far the engine can be trusted, at length: what `make evidence` runs. No part of the wheel."""
