"""The report formats: JSON, JUnit, Markdown, an HTML matrix, a badge, and the terminal output."""
