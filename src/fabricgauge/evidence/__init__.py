"""What a run's records say happened, told once for judging and for every report."""
