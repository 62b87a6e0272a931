"""A run of the suite: smoke first, then side by side what may run so, then the rest one after another."""
