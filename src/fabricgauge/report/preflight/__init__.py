"""What a preflight came to → terminal, HTML, Markdown, JSON: findings, the worst first; pure."""
