"""Evidence from a run's records, gathered once for judging and for all reports."""
