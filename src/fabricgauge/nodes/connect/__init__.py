"""The connectivity round: every node connects to every other before anything is measured."""
