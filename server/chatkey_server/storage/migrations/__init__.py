"""The schema's history: one module a step, run in the order of their ids."""
