"""The forms of a report: JSON, JUnit, Markdown, the matrix as a page, a badge, and what the terminal says."""
