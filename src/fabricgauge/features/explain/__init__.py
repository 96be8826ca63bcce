"""Explain a rule, a check, a threshold or a word in the words of the documentation."""
