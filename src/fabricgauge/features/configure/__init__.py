"""Plan the ordered steps that bring nodes to a described network; pure."""
