"""What may be shown of a call: a secret is looked for, hidden, and in no curl line."""
