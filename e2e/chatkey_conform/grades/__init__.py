"""How businesses come to be at a target: one module for each of three grades, behind one protocol."""
