"""A comparison as text, HTML, Markdown, JSON and CSV."""
