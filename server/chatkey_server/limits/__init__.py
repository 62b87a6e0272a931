"""How often, how much and how many at once: what one peer may ask for, so that there is enough for the others."""
