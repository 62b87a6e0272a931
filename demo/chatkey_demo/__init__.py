"""The demo: integrator sites in all four modes, and the stack of servers they need."""
