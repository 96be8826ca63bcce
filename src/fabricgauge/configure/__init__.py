"""A description and what there is → the ordered steps from one to the other; pure."""
