"""Judged runs as text for people and for programs; pure, and a row of a table each."""
