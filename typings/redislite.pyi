# The part that we use. The package has no types, and the newest Pythons have no wheel.
__redis_executable__: str
