"""The options of `chatkey check`, and the target that they describe."""
