"""What `chatkey check` does with its options, and what it says in the terminal."""
