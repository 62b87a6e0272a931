"""Three ways ("grades") to get test businesses at a target, with one module each and a common protocol."""
