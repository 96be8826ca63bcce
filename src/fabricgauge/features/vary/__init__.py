"""Measure settings in turns, in random order, and compare each with the first."""
