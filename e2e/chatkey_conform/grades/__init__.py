"""Three ways ("grades") to get test businesses at a target, one module each, with a common protocol."""
