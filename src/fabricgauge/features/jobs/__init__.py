"""Checks that a batch system runs: a job is written and submitted, awaited, collected."""
