"""Three ways ("grades") of getting test businesses at a target. Each grade is a module with a common protocol."""
