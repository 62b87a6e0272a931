"""The mistakes that are made, and how to know each of them again."""
