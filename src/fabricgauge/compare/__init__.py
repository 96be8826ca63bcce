"""Two sets of curves → what differs between them; pure."""
